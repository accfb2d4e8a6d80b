package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/internal/await"
	"heddle/nm/proc"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

const (
	floodDisk   = 640 << 20 // of each ResourceManager
	floodOf     = 900 << 10 // bytes of each submission's context
	floodMemory = 1600 << 20
	floodTokens = 1000 // that an owner may have
)

// flooded is a cluster of three ResourceManagers with small disks.
type flooded struct {
	*daemons.Cluster
	t      *testing.T
	client *ipc.Client
}

func newFlooded(t *testing.T) *flooded {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount disks of their own for daemons")
	}
	c := cluster.New(t, daemons.Options{Binary: binary, Dir: t.TempDir(), ResourceManagers: 3, Disk: floodDisk, Set: map[string]string{
		"heddle.raft.snapshot-mb": "64", "heddle.raft.trailing-mb": "64", "heddle.raft.min-free-mb": "128",
		"heddle.delegation-tokens.max-per-owner": fmt.Sprint(floodTokens),
	}})
	f := &flooded{Cluster: c, t: t, client: ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 30 * time.Second})}
	t.Cleanup(f.client.Close)
	f.start()
	return f
}

// start starts all and waits for a leader.
func (f *flooded) start() {
	f.t.Helper()
	if err := f.StartAll(); err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	if _, err := f.Leader(ctx, ""); err != nil {
		f.t.Fatal(err)
	}
}

// patient is a user's client that looks for the leader for as long as it takes.
func (f *flooded) patient(user string) ipc.Invoker {
	return f.client.Failover(f.Addresses(rm.ClientAddress), protocol.ApplicationClient, ipc.Identity{User: user},
		ipc.RetryPolicy{MaxElapsed: patience, MaxAttempts: 1000, Base: 20 * time.Millisecond, Max: time.Second})
}

// once is a user's client that doesn't repeat what is refused.
func (f *flooded) once(user string) ipc.Invoker {
	return f.client.Failover(f.Addresses(rm.ClientAddress), protocol.ApplicationClient, ipc.Identity{User: user},
		ipc.RetryPolicy{MaxElapsed: 20 * time.Second, MaxAttempts: 6, Base: 20 * time.Millisecond, Max: 100 * time.Millisecond})
}

// submit submits an application with so many bytes of context.
func (f *flooded) submit(to ipc.Invoker, bytes int) (records.ApplicationID, error) {
	resp, err := protocol.GetNewApplication.Call(f.t.Context(), to, &pb.GetNewApplicationRequest{})
	if err != nil {
		return records.ApplicationID{}, err
	}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(resp.GetApplicationId())
	ctx.SetApplicationName("flood")
	spec := &pb.ContainerLaunchContext{}
	spec.SetCommand([]string{strings.Repeat("x", bytes)})
	ctx.SetAmContainerSpec(spec)
	ctx.SetResource(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	_, err = protocol.SubmitApplication.Call(f.t.Context(), to, req)
	return records.ApplicationIDFrom(resp.GetApplicationId()), err
}

// unharmed checks that no ResourceManager has ended, and what each takes.
func (f *flooded) unharmed() {
	f.t.Helper()
	for _, e := range f.Ended() {
		f.t.Errorf("%v", e)
	}
	for _, id := range f.ResourceManagers {
		peak, err := proc.PeakMemory(f.PID(id))
		var disk unix.Statfs_t
		if err == nil {
			err = unix.Statfs(f.Home(id), &disk)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Logf("%s has used at most %d MB of memory; %d MB of its disk are free", id, peak>>20, int64(disk.Bavail)*disk.Bsize>>20)
		if peak > floodMemory {
			f.t.Errorf("%s has used %d MB, and may use %d", id, peak>>20, floodMemory>>20)
		}
	}
}

// One user's submissions filled the disks of all members with their log, which counted entries, and ended them; one client's tokens, kept for
// days, filled their memory. Now both are refused in time, others are served meanwhile, nothing that was acknowledged is lost, and what
// ends makes room.
func TestFloodsOfSubmissionsAndTokensEndNobody(t *testing.T) {
	f := newFlooded(t)
	var mu sync.Mutex
	var taken []records.ApplicationID
	var refused, tokens, full atomic.Int64
	var floods sync.WaitGroup
	for i := range 4 {
		floods.Go(func() {
			to := f.once("mallory")
			for n := 0; n < 2*floodDisk/floodOf/4 && refused.Load() < 8; n++ {
				id, err := f.submit(to, floodOf)
				switch {
				case err == nil:
					mu.Lock()
					taken = append(taken, id)
					mu.Unlock()
				case ipc.IsClass(err, ipc.RetriableException) || strings.Contains(err.Error(), "min-free-mb"):
					refused.Add(1)
				default:
					t.Errorf("a large submission: %v", err)
					return
				}
			}
		})
		floods.Go(func() {
			to := f.once("mallory")
			for range floodTokens/4 + 10 {
				req := &pb.GetDelegationTokenRequest{}
				req.SetRenewer(fmt.Sprint("renewer", i))
				_, err := protocol.GetDelegationToken.Call(t.Context(), to, req)
				switch {
				case err == nil:
					tokens.Add(1)
				case strings.Contains(err.Error(), "heddle.delegation-tokens.max-per-owner"):
					full.Add(1)
				default:
					t.Errorf("a token: %v", err)
					return
				}
			}
		})
	}
	floods.Wait()
	f.unharmed()
	t.Logf("%d submissions of %d KB were taken and %d refused, %d tokens were issued and %d refused", len(taken), floodOf>>10, refused.Load(), tokens.Load(), full.Load())
	// A change of leaders may have lost the answers with some tokens.
	if refused.Load() == 0 || len(taken) < 100 || tokens.Load() > floodTokens || tokens.Load() < floodTokens*9/10 || tokens.Load()+full.Load() != floodTokens+40 {
		t.Error("these are not the numbers of floods that are bounded")
	}
	small, err := f.submit(f.once("alice"), 1000)
	if err != nil {
		t.Errorf("somebody else's small submission: %v", err)
	}
	taken = append(taken, small)
	for _, id := range f.ResourceManagers {
		f.Kill(id)
	}
	f.start()
	honest, mallory := f.patient("alice"), f.patient("mallory")
	for _, id := range taken {
		req := &pb.GetApplicationReportRequest{}
		req.SetApplicationId(id.PB())
		if _, err := protocol.GetApplicationReport.Call(t.Context(), honest, req); err != nil {
			t.Fatalf("%v was acknowledged: %v", id, err)
		}
	}
	for _, id := range taken[:len(taken)-1] {
		req := &pb.KillApplicationRequest{}
		req.SetApplicationId(id.PB())
		if _, err := protocol.ForceKillApplication.Call(t.Context(), mallory, req); err != nil {
			t.Fatalf("a kill while the disk is low: %v", err)
		}
	}
	again := f.once("mallory")
	await.Slowly(t, "large submissions are taken again", func() bool { _, err := f.submit(again, floodOf); return err == nil })
	f.unharmed()
}
