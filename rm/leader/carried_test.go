package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// issuer is a NameNode, as far as its tokens go.
type issuer struct {
	mu                 sync.Mutex
	renewed, cancelled []time.Time
	life               time.Duration
	err                error
}

func (i *issuer) Renews(kind string) bool { return kind == token.KindHDFS }

func (i *issuer) RenewToken(context.Context, token.Token) (time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.renewed = append(i.renewed, time.Now())
	return time.Now().Add(i.life), i.err
}

func (i *issuer) CancelToken(context.Context, token.Token) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancelled = append(i.cancelled, time.Now())
	return i.err
}

func (i *issuer) answer(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = err
}

func (i *issuer) counts() (renewed, cancelled int) {
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.renewed), len(i.cancelled)
}

// delegation issues a token of alice's.
func (w *world) delegation(renewer string) token.Token {
	w.t.Helper()
	var made token.Token
	err := w.IssueDelegation(func(n NewDelegation) (identifier, password []byte) {
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
func carrying(t *testing.T, keep bool, tokens ...token.Token) func(*pb.ApplicationSubmissionContext) {
	var c token.Credentials
	for _, tok := range tokens {
		c.SetToken(tok.Service+string(tok.Identifier), tok)
	}
	raw := must[[]byte](t)(c.Encode(token.FormatWritable))
	return func(ctx *pb.ApplicationSubmissionContext) {
		ctx.GetAmContainerSpec().SetTokens(append(raw, 0, 0, 0)) // Spark leaves zeros behind them
		if keep {
			ctx.SetCancelTokensWhenComplete(false)
		}
	}
}

func runWithTokens(t *testing.T, keep time.Duration, test func(w *world, hdfs *issuer)) {
	t.Helper()
	hdfs := &issuer{life: 24 * time.Hour}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.tokens = hdfs
		w.change = func(s *Settings) {
			s.DelegationLifetime, s.DelegationRenewal, s.KeepTokens = 7*24*time.Hour, 24*time.Hour, keep
			s.TokenCalls = TokenCalls{Timeout: time.Minute, Pause: time.Minute, Tries: 10}
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
		id := w.submit(carrying(t, false, tok))
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

func TestTokensEndWithTheirLastDay(t *testing.T) {
	runWithTokens(t, 0, func(w *world, _ *issuer) {
		id := w.submit(carrying(t, false, w.delegation("yarn")))
		time.Sleep(7*24*time.Hour - time.Minute)
		if len(w.state().Delegations) != 1 {
			t.Fatal("gone before its last day")
		}
		time.Sleep(2 * time.Minute)
		if len(w.state().Delegations) != 0 || w.app(id).State.Ended() {
			t.Errorf("%v, %v", w.state().Delegations, w.app(id).State)
		}
	})
}

func TestTokensThatAreKept(t *testing.T) {
	runWithTokens(t, 0, func(w *world, hdfs *issuer) {
		own := w.delegation("yarn")
		foreign := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		first := w.submit(carrying(t, false, own, foreign))
		second := w.submit(carrying(t, true, own, foreign)) // wants to keep them
		third := w.submit(carrying(t, false, own, foreign))
		for _, id := range []records.ApplicationID{first, second, third} {
			if err := w.Kill(id, "enough"); err != nil {
				t.Fatal(err)
			}
		}
		if _, cancelled := hdfs.counts(); len(w.state().Delegations) != 1 || cancelled != 0 {
			t.Errorf("%v, %d", w.state().Delegations, cancelled)
		}
	})
}

// Of several applications with the same token the last one takes it away; with logs to upload, a while later.
func TestForeignTokensAreRenewedAndCancelled(t *testing.T) {
	runWithTokens(t, 10*time.Minute, func(w *world, hdfs *issuer) {
		tok := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		first, second := w.submit(carrying(t, false, tok)), w.submit(carrying(t, false, tok))
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

// A NameNode that doesn't answer is asked again; one that refuses isn't. The application knows nothing of it.
func TestTokensThatCanNotBeRenewed(t *testing.T) {
	runWithTokens(t, 0, func(w *world, hdfs *issuer) {
		tok := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		hdfs.answer(errors.New("nobody answers"))
		id := w.submit(carrying(t, false, tok))
		time.Sleep(5*time.Minute + 30*time.Second)
		asked, _ := hdfs.counts()
		if asked != 6 {
			t.Errorf("asked %d times in five and a half minutes", asked)
		}
		hdfs.answer(fmt.Errorf("renew: %w", &ipc.RemoteError{Class: ipc.AccessControlException, Text: "not your token"}))
		time.Sleep(time.Hour)
		if renewed, _ := hdfs.counts(); renewed != asked+1 || w.app(id).State.Ended() {
			t.Errorf("asked %d times once it was refused; the application is %v", renewed-asked, w.app(id).State)
		}
	})
}

// After as many calls as the configuration has, a token that nobody renews is left to itself.
func TestTokensThatAreGivenUp(t *testing.T) {
	runWithTokens(t, 0, func(w *world, hdfs *issuer) {
		tok := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		hdfs.answer(errors.New("nobody answers"))
		w.submit(carrying(t, false, tok))
		time.Sleep(20 * time.Minute)
		if renewed, _ := hdfs.counts(); renewed != 10 {
			t.Errorf("asked %d times", renewed)
		}
	})
}

// A cancellation that nobody answers is repeated until it's taken, or an application comes with the same token.
func TestTokensThatCanNotBeCancelled(t *testing.T) {
	runWithTokens(t, 0, func(w *world, hdfs *issuer) {
		tok := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		end := func(id records.ApplicationID) {
			if err := w.Kill(id, "enough"); err != nil {
				t.Fatal(err)
			}
		}
		first := w.submit(carrying(t, false, tok))
		time.Sleep(time.Minute)
		hdfs.answer(errors.New("nobody answers"))
		end(first)
		time.Sleep(150 * time.Second)
		if _, cancelled := hdfs.counts(); cancelled != 3 {
			t.Errorf("tried %d times in two and a half minutes", cancelled)
		}
		hdfs.answer(nil)
		second := w.submit(carrying(t, false, tok))
		time.Sleep(time.Hour)
		if renewed, cancelled := hdfs.counts(); renewed != 2 || cancelled != 3 {
			t.Errorf("under another application: renewed %d times, cancelled %d times", renewed, cancelled)
		}
		end(second)
		time.Sleep(time.Hour)
		if _, cancelled := hdfs.counts(); cancelled != 4 {
			t.Errorf("at the end of that one: %d", cancelled)
		}
		hdfs.answer(errors.New("nobody answers"))
		end(w.submit(carrying(t, false, tok)))
		time.Sleep(time.Hour)
		if _, cancelled := hdfs.counts(); cancelled != 14 {
			t.Errorf("with nobody there: %d", cancelled)
		}
	})
}

// Where the configuration says so, nobody keeps his tokens.
func TestTokensThatAreAlwaysCancelled(t *testing.T) {
	runWithTokens(t, 0, func(w *world, hdfs *issuer) {
		w.depose()
		change := w.change
		w.change = func(s *Settings) {
			change(s)
			s.TokenCalls.CancelKept = true
		}
		w.lead()
		foreign := token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}
		id := w.submit(carrying(t, true, w.delegation("yarn"), foreign))
		if err := w.Kill(id, "enough"); err != nil {
			t.Fatal(err)
		}
		if _, cancelled := hdfs.counts(); len(w.state().Delegations) != 0 || cancelled != 1 {
			t.Errorf("%v, %d", w.state().Delegations, cancelled)
		}
	})
}

// Who knows the identifier of somebody's token, but not its password, can't have it cancelled by an application of his own.
func TestForgedTokensAreLeftAlone(t *testing.T) {
	runWithTokens(t, 0, func(w *world, _ *issuer) {
		tok := w.delegation("yarn")
		tok.Password = []byte("guess")
		id := w.submit(carrying(t, false, tok))
		if err := w.Kill(id, "enough"); err != nil {
			t.Fatal(err)
		}
		if len(w.state().Delegations) != 1 {
			t.Error("a forged token cancelled the real one")
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
