package main

import (
	"context"
	"maps"
	"slices"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
)

// resource is what a node is served under a name.
type resource struct {
	kind    *kind
	name    string
	message types.Resource
}

// target is a resource of a node, and the version of its type once it is changed; an empty one leaves it as it is.
type target struct {
	node    string
	kind    *kind
	name    string
	version string
}

// state is what the nodes are served. Only one line at a time changes it.
type state struct {
	cache cache.SnapshotCache
	byID  map[string]*served
}

// served is what one node is served, by the URL of the type.
type served struct {
	versions  map[string]string
	resources map[string]map[string]types.Resource
}

func newState(snapshots cache.SnapshotCache) *state {
	return &state{cache: snapshots, byID: map[string]*served{}}
}

// set replaces what a node is served. The version is that of every type.
func (s *state) set(node, version string, resources []resource) error {
	next := &served{versions: map[string]string{}, resources: map[string]map[string]types.Resource{}}
	for _, kind := range kinds {
		next.versions[kind.url] = version
		next.resources[kind.url] = map[string]types.Resource{}
	}
	for index, resource := range resources {
		url := resource.kind.url
		if next.resources[url] == nil {
			next.versions[url] = version
			next.resources[url] = map[string]types.Resource{}
		}
		ofType := next.resources[url]
		if _, ok := ofType[resource.name]; ok {
			return refusef(codes.InvalidArgument, "resources[%d]: node %q: two %s resources are named %q",
				index, node, resource.kind.short, resource.name)
		}
		ofType[resource.name] = resource.message
	}
	return s.publish(node, next)
}

func (s *state) update(target target) error {
	return s.change(target, func(ofType map[string]types.Resource) error {
		held, ok := ofType[target.name]
		if !ok {
			return unknown(target)
		}
		ofType[target.name] = target.kind.revised(held)
		return nil
	})
}

func (s *state) add(target target) error {
	return s.change(target, func(ofType map[string]types.Resource) error {
		if _, ok := ofType[target.name]; ok {
			return refusef(codes.AlreadyExists, "node %q has %s resource %q already",
				target.node, target.kind.short, target.name)
		}
		ofType[target.name] = target.kind.minimal(target.name)
		return nil
	})
}

func (s *state) remove(target target) error {
	return s.change(target, func(ofType map[string]types.Resource) error {
		if _, ok := ofType[target.name]; !ok {
			return unknown(target)
		}
		delete(ofType, target.name)
		return nil
	})
}

func (s *state) change(target target, edit func(map[string]types.Resource) error) error {
	held, ok := s.byID[target.node]
	if !ok {
		return refusef(codes.NotFound, "node %q has no state, set one first", target.node)
	}
	url := target.kind.url
	next := &served{versions: maps.Clone(held.versions), resources: maps.Clone(held.resources)}
	next.resources[url] = maps.Clone(held.resources[url])
	if err := edit(next.resources[url]); err != nil {
		return err
	}
	if target.version != "" {
		next.versions[url] = target.version
	}
	return s.publish(target.node, next)
}

func (s *state) publish(node string, next *served) error {
	snapshot := &cache.Snapshot{}
	for url, resources := range next.resources {
		items := map[string]types.ResourceWithTTL{}
		for name, message := range resources {
			items[name] = types.ResourceWithTTL{Resource: message}
		}
		snapshot.Resources[cache.GetResponseType(url)] = cache.Resources{Version: next.versions[url], Items: items}
	}
	s.byID[node] = next
	return s.cache.SetSnapshot(context.Background(), node, snapshot)
}

func (s *state) clear(node string) {
	delete(s.byID, node)
	s.cache.ClearSnapshot(node)
}

func (s *state) nodes() []string {
	return slices.Collect(maps.Keys(s.byID))
}

// served gives the version of each type, or nil.
func (s *state) served(node string) map[string]*string {
	held, ok := s.byID[node]
	if !ok {
		return nil
	}
	versions := map[string]*string{}
	for _, kind := range kinds {
		version := held.versions[kind.url]
		versions[kind.short] = &version
	}
	return versions
}

func unknown(target target) error {
	return refusef(codes.NotFound, "node %q has no %s resource %q", target.node, target.kind.short, target.name)
}
