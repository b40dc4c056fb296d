package main

import (
	"maps"
	"slices"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
)

// streamStatus is what go-control-plane tells of a stream.
type streamStatus struct {
	ID      int64  `json:"id"`
	Variant string `json:"variant"`
	node    string
}

// streams are those that are open and have said which node they are of. The two variants count theirs apart.
type streams struct {
	lock sync.Mutex
	open map[streamKey]streamStatus
}

type streamKey struct {
	variant string
	id      int64
}

func newStreams() *streams { return &streams{open: map[streamKey]streamStatus{}} }

func (s *streams) callbacks() server.Callbacks {
	closed := func(variant string) func(int64, *core.Node) {
		return func(id int64, _ *core.Node) {
			s.lock.Lock()
			defer s.lock.Unlock()
			delete(s.open, streamKey{variant, id})
		}
	}
	return server.CallbackFuncs{
		StreamRequestFunc: func(id int64, request *discovery.DiscoveryRequest) error {
			s.asks("sotw", id, request.GetNode())
			return nil
		},
		StreamDeltaRequestFunc: func(id int64, request *discovery.DeltaDiscoveryRequest) error {
			s.asks("delta", id, request.GetNode())
			return nil
		},
		StreamClosedFunc:      closed("sotw"),
		DeltaStreamClosedFunc: closed("delta"),
	}
}

func (s *streams) asks(variant string, id int64, node *core.Node) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := streamKey{variant, id}
	if _, ok := s.open[key]; !ok && node != nil {
		s.open[key] = streamStatus{ID: id, Variant: variant, node: node.GetId()}
	}
}

func (s *streams) of(node string) []streamStatus {
	s.lock.Lock()
	defer s.lock.Unlock()
	of := []streamStatus{}
	for _, stream := range s.open {
		if stream.node == node {
			of = append(of, stream)
		}
	}
	return of
}

func (s *streams) nodes() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	nodes := map[string]bool{}
	for _, stream := range s.open {
		nodes[stream.node] = true
	}
	return slices.Collect(maps.Keys(nodes))
}
