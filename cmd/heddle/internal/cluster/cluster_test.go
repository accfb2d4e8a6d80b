package cluster

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// closed is an address where nobody listens.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Without a majority, whoever still answered said "ResourceManager rm2 is not Active!", and no more.
func TestWithoutALeaderItIsSaidWhoAnswers(t *testing.T) {
	s, err := ipc.NewServer(ipc.ServerConfig{Gate: func(string) error {
		return ipc.NewException(ipc.StandbyException, "ResourceManager rm2 is not Active!")
	}})
	if err != nil {
		t.Fatal(err)
	}
	protocol.GetApplications.Serve(s, func(context.Context, *pb.GetApplicationsRequest) (*pb.GetApplicationsResponse, error) {
		return &pb.GetApplicationsResponse{}, nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, ipc.ErrServerClosed) {
			t.Error(err)
		}
	})
	standby, first, third := l.Addr().String(), closed(t), closed(t)
	c, err := conf.Load(conf.Options{Overrides: []string{
		"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2,rm3", "yarn.resourcemanager.connect.max-wait.ms=50",
		"yarn.resourcemanager.address.rm1=" + first, "yarn.resourcemanager.address.rm2=" + standby, "yarn.resourcemanager.address.rm3=" + third,
	}})
	if err != nil {
		t.Fatal(err)
	}
	of, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	_, err = Call(t.Context(), of, protocol.GetApplications, &pb.GetApplicationsRequest{})
	want := "no ResourceManager leads: 1 of 3 answer, on standby (" + standby + "); no answer from the ResourceManager at " + first
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "nor at "+third) {
		t.Errorf("%v, want %s …", err, want)
	}
}
