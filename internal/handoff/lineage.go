package handoff

// Follow begins the envelope of a handoff that follows from parent: the same
// task, the parent's id, and a lineage that can still quote the ancestors after
// their payloads are gone. When the lineage is full, data is left out first, from
// the ancestor that has most of it, and then the oldest ancestors. The caller sets id, salt, source and target.
func Follow(parent *Envelope, createdAt, expiresAt string) *Envelope {
	child := &Envelope{
		Schema: Schema, CreatedAt: createdAt, ExpiresAt: expiresAt,
		Task: parent.Task, Parent: parent.ID, Status: StatusComplete,
	}
	summary := parent.Summary
	if summary == "" {
		summary = parent.Goal
	}
	child.Lineage = append(append([]Ancestor{}, parent.Lineage...), Ancestor{
		ID: parent.ID, Agent: parent.Source.Agent, Task: parent.Task, Summary: summary, Data: parent.Data,
	})
	if over := len(child.Lineage) - MaxLineage; over > 0 {
		child.Lineage = child.Lineage[over:]
	}
	for lineageBytes(child.Lineage) > MaxLineageBytes {
		if most := mostData(child.Lineage); child.Lineage[most].Data != nil {
			child.Lineage[most].Data = nil
		} else {
			child.Lineage = child.Lineage[1:] // one summary always fits
		}
	}
	return child
}

// mostData is the index of the ancestor whose data is largest.
func mostData(l []Ancestor) int {
	most, size := 0, 0
	for i, a := range l {
		n := 0
		for k, v := range a.Data {
			n += len(k) + len(v)
		}
		if n > size {
			most, size = i, n
		}
	}
	return most
}

func lineageBytes(l []Ancestor) int {
	b, err := Canonical(l)
	if err != nil {
		return 0 // Encode will say what is wrong with it
	}
	return len(b)
}
