package mcp

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// requests are those of a client that have no answer yet.
type requests struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]*request
	all  sync.WaitGroup // done when all answers are written
}

func newRequests() *requests { return &requests{open: map[jsonrpc.ID]*request{}} }

type request struct {
	batch     bool // the answer is a part of a batch
	cancelled bool // the client does not wait for the answer
}

// note keeps the requests of a line, and the cancelled ones. It returns false, and keeps nothing, if a
// request has the id of another.
func (r *requests) note(line []jsonrpc.Message, batch bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[jsonrpc.ID]*request{}
	for _, msg := range line {
		one, ok := msg.(*jsonrpc.Request)
		if !ok || !one.IsCall() {
			continue
		}
		if asked[one.ID] != nil || r.open[one.ID] != nil {
			return false
		}
		asked[one.ID] = &request{batch: batch}
	}
	r.all.Add(len(asked))
	maps.Copy(r.open, asked)
	for _, msg := range line {
		if one, ok := msg.(*jsonrpc.Request); ok && one.Method == "notifications/cancelled" {
			r.cancel(one.Params)
		}
	}
	return true
}

// cancel notes that the client waits for no answer. A request of a batch is answered nevertheless,
// because the other requests would wait for it.
func (r *requests) cancel(params json.RawMessage) {
	var named struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &named) != nil {
		return
	}
	id, err := jsonrpc.MakeID(named.ID)
	if one := r.open[id]; err == nil && one != nil && !one.batch {
		one.cancelled = true
	}
}

// answer forgets a request, whose id the client may use again once it reads the answer. It reports
// whether the client waits for one.
func (r *requests) answer(id jsonrpc.ID) (wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.open[id]
	delete(r.open, id)
	return one == nil || !one.cancelled
}
