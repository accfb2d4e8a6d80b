package localizer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// silentNameNode accepts connections, and never answers. asked has a value for each.
func silentNameNode(t *testing.T) (at *net.TCPAddr, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{}, 100)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
			came <- struct{}{}
		}
		for _, c := range open {
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		accepting.Wait()
	})
	return l.Addr().(*net.TCPAddr), came
}

// onSilent is a node with an adapter for HDFS, and so many resources of a user whose NameNode never answers.
func onSilent(t *testing.T, count int) (n *node, silent map[string]Resource, asked <-chan struct{}) {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	n = newNode(t, func(cfg *Config) { cfg.Source = OnHDFS(a, LocalFiles{}) })
	at, asked := silentNameNode(t)
	silent = map[string]Resource{}
	for i := range count {
		name := fmt.Sprint("a", i)
		silent[name] = Resource{
			Location: Location{Scheme: "hdfs", Host: at.IP.String(), Port: int32(at.Port), Path: "/" + name}, Type: File, Visibility: Public, Size: 1, Timestamp: 1,
		}
	}
	return n, silent, asked
}

// fetch localizes resources for a container of a user, and returns what tells of its end and what ends it.
func (n *node) fetch(container int64, user string, resources map[string]Resource) (done <-chan error, stop func()) {
	ctx, stop := context.WithCancel(n.t.Context())
	n.t.Cleanup(stop)
	end := make(chan error, 1)
	go func() {
		_, err := n.Localize(ctx, Request{Container: containerOf(container), User: user, Resources: resources})
		end <- err
	}()
	return end, stop
}

// ended waits for the end of a fetch.
func ended(t *testing.T, done <-chan error) error {
	t.Helper()
	return await.Value(t, "the resources are here", func() (error, bool) {
		select {
		case err := <-done:
			return err, true
		default:
			return nil, false
		}
	})
}

func containerOf(n int64) records.ContainerID { return container(int32(n), n) }

func TestPublicResourcesOfASilentNameNodeHoldUpOnlyTheirUser(t *testing.T) {
	n, silent, asked := onSilent(t, 8)
	got, stop := n.fetch(1, "alice", silent)
	<-asked
	for user := range 5 {
		mine := map[string]Resource{}
		for i := range 6 {
			name := fmt.Sprint("f", user, i)
			mine[name] = n.file(name, name, Public)
		}
		others, _ := n.fetch(int64(2+user), fmt.Sprint("user", user), mine)
		if err := ended(t, others); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("the silent NameNode's resources: %v", err)
	}
}

// A file that the user of a silent NameNode wants as well isn't stuck behind that user's others.
func TestAPublicFileIsNotStuckInTheTurnOfWhoAskedForItFirst(t *testing.T) {
	n, resources, asked := onSilent(t, 8)
	common := n.file("common", "c", Public)
	resources["z"] = common
	got, stop := n.fetch(1, "alice", resources)
	<-asked
	await.Until(t, "alice waits for the common file", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.held[containerOf(1)]) == len(resources)
	})
	bobs, _ := n.fetch(2, "bob", map[string]Resource{"x": common})
	if err := ended(t, bobs); err != nil {
		t.Fatal(err)
	}
	stop()
	<-got
}

// Somebody else's download that was cancelled while it looked at a folder says nothing about the folder.
func TestACancelledLookAtAFolderFailsNoOtherContainer(t *testing.T) {
	seen := &ancestors{}
	n := newNode(t)
	at := Location{Scheme: "file", Path: n.src}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := seen.stat(ended, failingWhenEnded{n.source}, Reader{User: "alice"}, at); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := seen.stat(t.Context(), failingWhenEnded{n.source}, Reader{User: "alice"}, at); err != nil {
		t.Error(err)
	}
}

// failingWhenEnded is a source that heeds the end of contexts.
type failingWhenEnded struct{ Source }

func (s failingWhenEnded) Stat(ctx context.Context, by Reader, at Location) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	return s.Source.Stat(ctx, by, at)
}
