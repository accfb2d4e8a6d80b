package rm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/keystore"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/proxyca"
	"heddle/yarn/records"
)

// authorityIn returns the authority of an ApplicationMaster's certificate.
func authorityIn(t *testing.T, start *pb.StartContainerRequest) []byte {
	t.Helper()
	stores := proxyca.Stores(start.GetContainerLaunchContext().GetTokens())
	if len(stores) != 2 {
		t.Fatalf("an ApplicationMaster gets %d keystores", len(stores))
	}
	s, err := keystore.Parse(stores[0].Content, stores[0].Password, "")
	if err != nil {
		t.Fatal(err)
	}
	return s.Keys[0].Chain[1].Raw
}

// ApplicationMasters' certificates are of one authority, which survives leaders and restarts.
func TestCertificatesOfApplicationMasters(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 3)
	c.Set(proxyca.Key, proxyca.Strict)
	members := make([]*member, 3)
	for i := range members {
		members[i] = startOne(t, c, i)
	}
	halt := func() {
		for _, m := range members {
			m.halt(t)
		}
	}
	defer func() { halt() }()
	w := newWorld(t, members)
	first := leaderOf(t, members)
	n := w.node()
	w.submit("alice")
	want := authorityIn(t, <-n.started)

	first.halt(t)
	if leaderOf(t, members) == first {
		t.Fatal("the leader that was stopped leads")
	}
	var ended records.ContainerID
	for id := range n.running {
		ended = id
	}
	n.heartbeat(&ended, 1) // so there is another attempt
	if got := authorityIn(t, <-n.started); !cmp.Equal(got, want) {
		t.Error("another leader has another authority")
	}
	halt()
	for i := range members {
		members[i] = startOne(t, c, i)
	}
	again := leaderOf(t, members)
	again.Read(func(st *ledger.State) {
		secret := st.Keys[ledgerpb.KeyKind_PROXY_CA].Current.Secret
		if a, err := proxyca.Open(secret); err != nil || !cmp.Equal(a.Certificate(), want) {
			t.Errorf("after a restart there is another authority: %v", err)
		}
	})
}
