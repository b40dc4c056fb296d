// A control plane made of go-control-plane, which is driven as Portolan's testbed is: by lines on standard input. See
// README.md.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	runtimeservice "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
)

func main() {
	address := flag.String("xds-listen", "127.0.0.1:18000", "where to serve xDS; port 0 takes a free one")
	flag.Parse()
	if err := run(*address); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run serves until a line or a signal asks to end. The end of standard input does not.
func run(address string) error {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	// Ordered: the responses to one publication go out in the order clusters, endpoints, listeners, routes.
	snapshots := cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	open := newStreams()
	xds := server.NewServer(interrupted, snapshots, open.callbacks(), sotw.WithOrderedADS())
	transport := grpc.NewServer()
	register(transport, xds)
	failed := make(chan error, 1)
	go func() { failed <- transport.Serve(listener) }()
	defer transport.Stop()
	fmt.Println("listening xds", listener.Addr())

	done := make(chan struct{})
	go func() {
		commands := commands{state: newState(snapshots), streams: open}
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			answer, last := commands.answer(line)
			fmt.Println(answer)
			if last {
				close(done)
				return
			}
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-interrupted.Done():
	case <-done:
	}
	return nil
}

func register(transport *grpc.Server, xds server.Server) {
	discovery.RegisterAggregatedDiscoveryServiceServer(transport, xds)
	clusterservice.RegisterClusterDiscoveryServiceServer(transport, xds)
	endpointservice.RegisterEndpointDiscoveryServiceServer(transport, xds)
	listenerservice.RegisterListenerDiscoveryServiceServer(transport, xds)
	routeservice.RegisterRouteDiscoveryServiceServer(transport, xds)
	routeservice.RegisterScopedRoutesDiscoveryServiceServer(transport, xds)
	routeservice.RegisterVirtualHostDiscoveryServiceServer(transport, xds)
	secretservice.RegisterSecretDiscoveryServiceServer(transport, xds)
	runtimeservice.RegisterRuntimeDiscoveryServiceServer(transport, xds)
}
