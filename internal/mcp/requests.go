package mcp

import (
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// requests are those of a client that have no answer yet.
type requests struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]bool
	all  sync.WaitGroup // until the answers are written
}

func newRequests() *requests { return &requests{open: map[jsonrpc.ID]bool{}} }

// note keeps the requests of a line. It returns false, and keeps nothing, if a request has the id of
// another.
func (r *requests) note(line []jsonrpc.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[jsonrpc.ID]bool{}
	for _, msg := range line {
		one, ok := msg.(*jsonrpc.Request)
		if !ok || !one.IsCall() {
			continue
		}
		if asked[one.ID] || r.open[one.ID] {
			return false
		}
		asked[one.ID] = true
	}
	r.all.Add(len(asked))
	maps.Copy(r.open, asked)
	return true
}

// answer forgets a request, whose id the client may use again once it reads the answer.
func (r *requests) answer(id jsonrpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}
