package stress

// oldCalls: this architecture has none of them.
var oldCalls = map[int]string{}
