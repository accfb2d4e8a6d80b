package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Roles of the test's own program, in processes of their own: a load that is killed, and its keeper.
const (
	roleLoad   = "load-to-be-killed"
	roleKeeper = "keeper"
)

func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case roleKeeper:
		exit(Keep(os.Stdin))
	case roleLoad:
		exit(loadAsGuest(os.Args[2]))
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loadAsGuest does what heddle-lab bench rm does with a configured cluster.
func loadAsGuest(options string) error {
	var o Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return err
	}
	done, err := Visit(context.Background(), &o, false, roleKeeper)
	if err != nil {
		return err
	}
	_, err = Run(context.Background(), o)
	return errors.Join(err, done())
}

// guest starts a load in a process of its own.
func guest(t *testing.T, o Options) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, roleLoad, string(raw))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// lives counts the cluster's nodes and applications that live.
func lives(t *testing.T, o Options) (nodes, apps int) {
	t.Helper()
	client := ipc.NewClient(ipc.ClientConfig{})
	defer client.Close()
	rm := client.Endpoint(o.Client[0], protocol.ApplicationClient, ipc.Identity{User: "alice"})
	askNodes, askApps := &pb.GetClusterNodesRequest{}, &pb.GetApplicationsRequest{}
	askNodes.SetNodeStates(liveNodes)
	askApps.SetApplicationStates(liveApps)
	n, err := protocol.GetClusterNodes.Call(t.Context(), rm, askNodes)
	if err != nil {
		t.Fatal(err)
	}
	a, err := protocol.GetApplications.Call(t.Context(), rm, askApps)
	if err != nil {
		t.Fatal(err)
	}
	return len(n.GetNodeReports()), len(a.GetApplications())
}

func isLoaded(t *testing.T, o Options) {
	t.Helper()
	await.Until(t, "the load has registered everything", func() bool {
		nodes, apps := lives(t, o)
		return nodes == o.Nodes && apps == o.Masters
	})
}

func isIdle(t *testing.T, o Options) {
	t.Helper()
	await.Until(t, "nothing of the load lives", func() bool {
		nodes, apps := lives(t, o)
		return nodes == 0 && apps == 0
	})
}

// False nodes and applications stayed RUNNING on a cluster that had been loaded, and real ApplicationMasters were sent to these nodes.
func TestALoadLeavesNothingBehind(t *testing.T) {
	o := resourceManager(t)
	o.Duration = 300 * time.Millisecond
	cmd := guest(t, o)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if nodes, apps := lives(t, o); nodes != 0 || apps != 0 {
		t.Errorf("%d nodes and %d applications are left", nodes, apps)
	}
}

func TestAKilledLoadLeavesNothingBehind(t *testing.T) {
	o := resourceManager(t)
	o.Duration = time.Hour
	cmd := guest(t, o)
	isLoaded(t, o)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	isIdle(t, o)
}

// What a load meant to register, and didn't, is no reason for not taking back the rest.
func TestWhatWasNotRegisteredIsNoError(t *testing.T) {
	o := resourceManager(t)
	left := Left{Client: o.Client, Tracker: o.Tracker, User: o.User, Nodes: 3, Apps: []string{"application_1_0001"}}
	if err := left.TakeBack(t.Context()); err != nil {
		t.Error(err)
	}
}

// A configured cluster was loaded without a question.
func TestABusyClusterIsNotLoaded(t *testing.T) {
	o := resourceManager(t)
	if err := Idle(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := newNode(&run{o: o}, 0)
	defer n.client.Close()
	if err := n.Register(ctx); err != nil {
		t.Fatal(err)
	}
	if err := Idle(ctx, o); err == nil || !strings.Contains(err.Error(), "1 nodes and 0 live applications") {
		t.Errorf("with a node: %v", err)
	}
	if err := (&Left{Client: o.Client, Tracker: o.Tracker, Nodes: 1}).TakeBack(ctx); err != nil {
		t.Fatal(err)
	}
	if err := Idle(ctx, o); err != nil {
		t.Errorf("after it has left: %v", err)
	}
}
