package stress

// oldCalls is empty on this architecture.
var oldCalls = map[int]string{}
