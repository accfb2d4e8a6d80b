package leader

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/delegation"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// issuer is a NameNode, as far as its tokens go.
type issuer struct {
	mu                 sync.Mutex
	renewed, cancelled int
}

func (i *issuer) Renews(t token.Token) bool { return t.Kind == token.KindHDFS }

func (i *issuer) RenewToken(context.Context, token.Token) (time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.renewed++
	return time.Now().Add(24 * time.Hour), nil
}

func (i *issuer) CancelToken(context.Context, token.Token) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancelled++
	return nil
}

func (i *issuer) counts() (renewed, cancelled int) {
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.renewed, i.cancelled
}

// delegation issues a token of alice's.
func (w *world) delegation(renewer string) token.Token {
	w.t.Helper()
	var made token.Token
	err := w.Delegations().Issue(delegation.Names{}, func(n delegation.Draft) (identifier, password []byte) {
		id := token.Delegation{Owner: "alice", Renewer: renewer, IssueMS: n.Issued, MaxMS: n.Max, Sequence: n.Sequence, KeyID: n.Key.ID}
		made = token.NewMasterKey(n.Key.ID, n.Key.Secret).Mint(token.KindDelegation, "10.0.0.1:8032", id.Encode())
		return made.Identifier, made.Password
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// carrying puts tokens into the credentials of a submission.
func carrying(t *testing.T, tokens ...token.Token) func(*pb.ApplicationSubmissionContext) {
	var c token.Credentials
	for _, tok := range tokens {
		c.SetToken(tok.Service+string(tok.Identifier), tok)
	}
	raw := must[[]byte](t)(c.Encode(token.FormatWritable))
	return func(ctx *pb.ApplicationSubmissionContext) {
		ctx.GetAmContainerSpec().SetTokens(append(raw, 0, 0, 0)) // Spark leaves zeros behind them
	}
}

func runWithTokens(t *testing.T, cancelDelay time.Duration, test func(w *world, hdfs *issuer)) {
	t.Helper()
	hdfs := &issuer{}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.tokens = hdfs
		w.change = func(s *Settings) {
			s.DelegationLifetime, s.DelegationRenewal = 7*24*time.Hour, 24*time.Hour
			s.TokenCalls = delegation.Calls{Timeout: time.Minute, Pause: time.Minute, Tries: 10, CancelDelay: cancelDelay}
			s.AMExpiry, s.NodeExpiry = 1000*time.Hour, 1000*time.Hour // nobody has to say that he is there
			s.KeyLifetime = map[ledgerpb.KeyKind]time.Duration{}
		}
		w.lead()
		test(w, hdfs)
		w.depose()
		if err := w.state().Check(); err != nil {
			t.Error(err)
		}
	})
}

// A token that nobody renews ends after a day. That of an application lives for as long as the application, across leaders, up to
// its last day; and ends with it.
func TestOwnTokensAreRenewedAndCancelled(t *testing.T) {
	runWithTokens(t, 0, func(w *world, _ *issuer) {
		tok := w.delegation("yarn")
		w.delegation("yarn") // which no application has
		id := w.submit(carrying(t, tok))
		time.Sleep(30 * time.Hour)
		if d := w.state().Delegations; len(d) != 1 || d[1].RenewBy < time.Now().UnixMilli() {
			t.Fatalf("after 30 hours: %v", d)
		}
		w.depose()
		w.lead()
		time.Sleep(30 * time.Hour)
		if d := w.state().Delegations; len(d) != 1 {
			t.Fatalf("with the next leader: %v", d)
		}
		if err := w.Kill(id, "enough"); err != nil {
			t.Fatal(err)
		}
		if d := w.state().Delegations; len(d) != 0 {
			t.Errorf("after the end: %v", d)
		}
		w.same()
	})
}

// Of several applications with the same token the last one takes it away; with logs to upload, a while later.
func TestForeignTokensAreRenewedAndCancelled(t *testing.T) {
	runWithTokens(t, 10*time.Minute, func(w *world, hdfs *issuer) {
		tok := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		first, second := w.submit(carrying(t, tok)), w.submit(carrying(t, tok))
		time.Sleep(48 * time.Hour)
		if renewed, _ := hdfs.counts(); renewed != 3 { // at once, and each time after nine tenths of a day
			t.Errorf("renewed %d times", renewed)
		}
		if err := w.Kill(first, "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, cancelled := hdfs.counts(); cancelled != 0 {
			t.Error("cancelled under the other application")
		}
		if err := w.Kill(second, "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Minute)
		if _, cancelled := hdfs.counts(); cancelled != 0 {
			t.Error("cancelled before the logs can be there")
		}
		time.Sleep(2 * time.Minute)
		if _, cancelled := hdfs.counts(); cancelled != 1 {
			t.Errorf("cancelled %d times", cancelled)
		}
	})
}

func TestCredentialsThatMakeNoSense(t *testing.T) {
	runWithTokens(t, 0, func(w *world, _ *issuer) {
		for _, raw := range []string{"HDTS", "nonsense", "HDTS\x00\x7f", "HDTS\x01\xff\xff\xff\xff\x0f"} {
			id := w.submit(func(ctx *pb.ApplicationSubmissionContext) { ctx.GetAmContainerSpec().SetTokens([]byte(raw)) })
			if w.app(id).State.Ended() {
				t.Errorf("%q: refused, which stock YARN does not do", raw)
			}
			if err := w.Kill(id, "enough"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
