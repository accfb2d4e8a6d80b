package rm

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/ports"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// With heddle.raft.witness.commit-alone=false a ResourceManager that is alone beside the witness gives up the lead, and acknowledges nothing. It leads again when the
// other one has what it has.
func TestNobodyLeadsAloneBesideAWitnessWhereThatIsForbidden(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 2)
	c.Set("heddle.raft.witness.address", ports.Loopback(t, 1)[0])
	c.Set("heddle.raft.witness.commit-alone", "false")
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Witness(ctx, c, logrus.NewEntry(log)) }()
	members := []*member{startOne(t, c, 0), startOne(t, c, 1)}
	defer func() {
		for _, m := range members {
			m.halt(t)
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	lead := leaderOf(t, members)
	i := 0
	if members[0] == lead {
		i = 1
	}
	w := newWorld(t, members)
	before := w.submit("alice")

	members[i].halt(t)
	await.Until(t, "the one that is left gives up the lead", func() bool { return lead.Leader() == nil })
	alone := w.client.Endpoint(lead.Addr(ClientAddress).String(), protocol.ApplicationClient, ipc.Identity{User: "bob"})
	asked, done := context.WithTimeout(t.Context(), 2*time.Second) // it may wait for a leader
	defer done()
	if resp, err := protocol.GetNewApplication.Call(asked, alone, &pb.GetNewApplicationRequest{}); err == nil {
		t.Errorf("alone it acknowledges %v", resp)
	}

	members[i] = startOne(t, c, i)
	leaderOf(t, members)
	w.members = members
	if after := w.submit("alice"); after.ID <= before.ID {
		t.Errorf("after %v comes %v", before, after)
	}
	if rep := w.report(before); rep.GetYarnApplicationState() != pb.YarnApplicationState_ACCEPTED {
		t.Errorf("the application from before: %v", rep)
	}
}
