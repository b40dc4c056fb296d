package main

import (
	"fmt"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	// For the messages of secrets, which are only given.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	urls "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// kind is a type of resources.
type kind struct {
	// short is what it is called in answers; of types that are given by their URL, the URL.
	short string
	url   string
	// minimal makes a resource that a client accepts and that refers to no other; nil where resources must be given.
	minimal func(name string) types.Resource
	// revise changes the content, and nothing of what a proxy does.
	revise func(types.Resource)
}

// kinds are those with minimal resources.
var kinds = []*kind{
	{"LDS", urls.ListenerType, minimalListener, func(held types.Resource) {
		of := held.(*listener.Listener)
		of.Metadata = counted(of.Metadata)
	}},
	{"CDS", urls.ClusterType, minimalCluster, func(held types.Resource) {
		of := held.(*cluster.Cluster)
		of.Metadata = counted(of.Metadata)
	}},
	{"RDS", urls.RouteType, minimalRoutes, func(held types.Resource) {
		of := held.(*route.RouteConfiguration)
		of.Metadata = counted(of.Metadata)
	}},
	{"EDS", urls.EndpointType, minimalEndpoints, func(held types.Resource) {
		of := held.(*endpoint.ClusterLoadAssignment)
		if of.Policy == nil {
			of.Policy = &endpoint.ClusterLoadAssignment_Policy{}
		}
		factor := uint32(140)
		if of.Policy.OverprovisioningFactor != nil {
			factor = of.Policy.OverprovisioningFactor.Value
		}
		of.Policy.OverprovisioningFactor = wrapperspb.UInt32(factor + 1)
	}},
}

// kindOf gives the kind of this name or URL that has minimal resources.
func kindOf(typeName string) (*kind, error) {
	for _, kind := range kinds {
		if typeName == kind.short || typeName == kind.url {
			return kind, nil
		}
	}
	return nil, fmt.Errorf("unknown type %q; there are LDS, CDS, RDS and EDS", typeName)
}

// givenKindOf gives also kinds of which resources can only be given.
func givenKindOf(typeName string) (*kind, error) {
	if kind, err := kindOf(typeName); err == nil {
		return kind, nil
	}
	if cache.GetResponseType(typeName) == types.UnknownType {
		return nil, fmt.Errorf("unknown type %q", typeName)
	}
	return &kind{short: typeName, url: typeName}, nil
}

// decode reads a resource that was given.
func (k *kind) decode(body []byte) (types.Resource, error) {
	message, err := (&anypb.Any{TypeUrl: k.url, Value: body}).UnmarshalNew()
	if err != nil {
		return nil, err
	}
	return message, nil
}

func (k *kind) revised(held types.Resource) types.Resource {
	next := proto.Clone(held)
	k.revise(next)
	return next
}

func minimalListener(name string) types.Resource {
	manager := &hcm.HttpConnectionManager{
		StatPrefix: name,
		RouteSpecifier: &hcm.HttpConnectionManager_RouteConfig{
			RouteConfig: &route.RouteConfiguration{Name: name},
		},
		HttpFilters: []*hcm.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: packed(&router.Router{})},
		}},
	}
	filter := &listener.Filter{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listener.Filter_TypedConfig{TypedConfig: packed(manager)},
	}
	address := &core.SocketAddress{
		Address:       "127.0.0.1",
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: 0},
	}
	return &listener.Listener{
		Name:         name,
		Address:      &core.Address{Address: &core.Address_SocketAddress{SocketAddress: address}},
		FilterChains: []*listener.FilterChain{{Filters: []*listener.Filter{filter}}},
	}
}

func minimalCluster(name string) types.Resource {
	return &cluster.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC},
		LoadAssignment:       &endpoint.ClusterLoadAssignment{ClusterName: name},
	}
}

func minimalRoutes(name string) types.Resource { return &route.RouteConfiguration{Name: name} }

func minimalEndpoints(name string) types.Resource {
	return &endpoint.ClusterLoadAssignment{ClusterName: name}
}

// packed panics only on messages that are not valid UTF-8, which names of commands are.
func packed(message proto.Message) *anypb.Any {
	any, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return any
}

// counted counts a revision in the metadata, as the testbed does.
func counted(metadata *core.Metadata) *core.Metadata {
	if metadata == nil {
		metadata = &core.Metadata{}
	}
	if metadata.FilterMetadata == nil {
		metadata.FilterMetadata = map[string]*structpb.Struct{}
	}
	const ours, field = "portolan.testbed", "revision"
	last := metadata.FilterMetadata[ours].GetFields()[field].GetNumberValue()
	metadata.FilterMetadata[ours] = &structpb.Struct{
		Fields: map[string]*structpb.Value{field: structpb.NewNumberValue(last + 1)},
	}
	return metadata
}
