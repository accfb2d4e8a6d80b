package rm

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

func TestHeirs(t *testing.T) {
	ids := []string{"rm1", "rm2", "rm3"}
	for _, c := range []struct {
		last, offered, self string
		want                []string
	}{
		{"", "", "rm1", nil},
		{"", "", "rm3", []string{"rm1", "rm2"}},
		{"rm1", "", "rm2", nil},
		{"rm1", "", "rm3", []string{"rm2"}},
		{"rm2", "", "rm1", []string{"rm3"}},
		{"rm3", "", "rm1", nil},
		{"rm3", "", "rm2", []string{"rm1"}},
		{"rm2", "", "rm2", nil},
		{"gone", "", "rm2", []string{"rm1"}},
		{"rm1", "rm3", "rm2", []string{"rm3"}},
		{"rm1", "stranger", "rm3", []string{"rm2"}},
		// rm4 is kept from leading
		{"rm1", "", "rm4", []string{"rm2", "rm3", "rm1"}},
		{"rm4", "", "rm4", []string{"rm1", "rm2", "rm3"}},
		{"", "", "rm4", []string{"rm1", "rm2", "rm3"}},
	} {
		if d := cmp.Diff(c.want, heirs(ids, c.last, c.offered, c.self)); d != "" {
			t.Errorf("after %q, offered to %q, elected %s: %s", c.last, c.offered, c.self, d)
		}
	}
}

// A client that tries the members as Hadoop's do, and finds the leader at the second try whoever led before.
func TestTheNextMemberLeads(t *testing.T) {
	members := start(t, 3)
	lead := slices.Index(members, leaderOf(t, members))
	client := ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 2 * time.Second})
	defer client.Close()
	for range 2 {
		next := (lead + 1) % len(members)
		members[lead].halt(t)
		rm := client.Endpoint(members[next].Addr(ClientAddress).String(), protocol.ApplicationClient, ipc.Identity{User: "alice"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := protocol.GetNewApplication.Call(ctx, rm, &pb.GetNewApplicationRequest{})
		cancel()
		if err != nil {
			t.Fatalf("the first call to %s when %s was lost: %v", members[next].ID(), members[lead].ID(), err)
		}
		members[lead] = startOne(t, members[next].conf, lead)
		await.Value(t, "the lost member is back", func() (bool, bool) {
			return true, members[next].stands(t.Context(), members[lead].ID())
		})
		lead = next
	}
}
