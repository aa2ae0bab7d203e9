package handoff

// Follow begins the envelope of a handoff that follows from parent: the same
// task, the parent's id, and a lineage that can still quote the ancestors after
// their payloads are gone. When the lineage is full the oldest ancestors are
// left out. The caller sets id, salt, source and target.
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
	for len(child.Lineage) > MaxLineage || len(child.Lineage) > 1 && lineageBytes(child.Lineage) > MaxLineageBytes {
		child.Lineage = child.Lineage[1:]
	}
	if lineageBytes(child.Lineage) > MaxLineageBytes {
		child.Lineage[0].Data = nil // the summary alone always fits
	}
	return child
}

func lineageBytes(l []Ancestor) int {
	b, err := Canonical(l)
	if err != nil {
		return 0 // Encode will say what is wrong with it
	}
	return len(b)
}
