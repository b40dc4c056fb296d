package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

const usage = "set NODE VERSION [TYPE=NAME ...] | give NODE VERSION [TYPE=NAME=HEX ...] | " +
	"update NODE TYPE NAME [VERSION] | add NODE TYPE NAME [VERSION] | remove NODE TYPE NAME [VERSION] | " +
	"clear NODE | status [NODE] | help | quit"

// commands answers the lines that docs/testbed.md lists.
type commands struct {
	state   *state
	streams *streams
}

// answer does what a line says, and gives a line and whether it was to be the last.
func (c *commands) answer(line string) (string, bool) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return refusal(codes.InvalidArgument, "usage: "+usage), false
	}
	var err error
	switch command, rest := words[0], words[1:]; {
	case command == "set" && len(rest) >= 2:
		err = c.set(rest[0], rest[1], rest[2:], minimalOf)
	case command == "give" && len(rest) >= 2:
		err = c.set(rest[0], rest[1], rest[2:], givenBy)
	case command == "update" && (len(rest) == 3 || len(rest) == 4):
		err = c.change(rest, c.state.update)
	case command == "add" && (len(rest) == 3 || len(rest) == 4):
		err = c.change(rest, c.state.add)
	case command == "remove" && (len(rest) == 3 || len(rest) == 4):
		err = c.change(rest, c.state.remove)
	case command == "clear" && len(rest) == 1:
		c.state.clear(rest[0])
	case command == "status" && len(rest) <= 1:
		return "ok " + c.status(rest), false
	case command == "help" && len(rest) == 0:
		return "ok " + usage, false
	case command == "quit" && len(rest) == 0:
		return "ok", true
	default:
		return refusal(codes.InvalidArgument, "usage: "+usage), false
	}
	if err != nil {
		return refusal(codeOf(err), err.Error()), false
	}
	return "ok", false
}

func (c *commands) set(node, version string, words []string, read func(string) (resource, error)) error {
	resources := make([]resource, 0, len(words))
	for index, word := range words {
		made, err := read(word)
		if err != nil {
			return refusef(codes.InvalidArgument, "resources[%d]: node %q: %v", index, node, err)
		}
		resources = append(resources, made)
	}
	return c.state.set(node, version, resources)
}

func (c *commands) change(words []string, change func(target) error) error {
	kind, err := kindOf(words[1])
	if err != nil {
		return refusef(codes.InvalidArgument, "node %q: %v", words[0], err)
	}
	target := target{node: words[0], kind: kind, name: words[2]}
	if len(words) == 4 {
		target.version = words[3]
	}
	return change(target)
}

// minimalOf reads TYPE=NAME.
func minimalOf(word string) (resource, error) {
	typeName, name, _ := strings.Cut(word, "=")
	kind, err := kindOf(typeName)
	if err != nil {
		return resource{}, err
	}
	if name == "" {
		return resource{}, fmt.Errorf("%s resource without a name", kind.short)
	}
	return resource{kind, name, kind.minimal(name)}, nil
}

// givenBy reads TYPE=NAME=HEX.
func givenBy(word string) (resource, error) {
	typeName, rest, _ := strings.Cut(word, "=")
	kind, err := givenKindOf(typeName)
	if err != nil {
		return resource{}, err
	}
	end := strings.LastIndex(rest, "=")
	if end < 1 {
		return resource{}, fmt.Errorf("%s resource without a name", kind.short)
	}
	body, err := hex.DecodeString(rest[end+1:])
	if err != nil {
		return resource{}, fmt.Errorf("%s resource whose body is not hexadecimal", kind.short)
	}
	message, err := kind.decode(body)
	if err != nil {
		return resource{}, fmt.Errorf("%s resource that does not decode: %w", kind.short, err)
	}
	return resource{kind, rest[:end], message}, nil
}

type nodeStatus struct {
	Node    string             `json:"node"`
	Served  map[string]*string `json:"served"`
	Streams []streamStatus     `json:"streams"`
}

// status is of one node, or of all that have a state or streams.
func (c *commands) status(node []string) string {
	of := func(node string) nodeStatus {
		return nodeStatus{node, c.state.served(node), c.streams.of(node)}
	}
	var status any
	if len(node) == 1 {
		status = of(node[0])
	} else {
		all := []nodeStatus{}
		nodes := append(c.state.nodes(), c.streams.nodes()...)
		slices.Sort(nodes)
		for _, node := range slices.Compact(nodes) {
			all = append(all, of(node))
		}
		status = map[string]any{"nodes": all}
	}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err) // Made of strings and numbers.
	}
	return string(text)
}
