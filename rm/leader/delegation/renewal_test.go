package delegation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// nameNode renews its own tokens for a day, or fails.
type nameNode struct {
	mu                 sync.Mutex
	renewed, cancelled int
	err                error
	silent             bool // it answers no renewal
}

func (n *nameNode) Renews(t token.Token) bool { return t.Kind == token.KindHDFS }

func (n *nameNode) RenewToken(ctx context.Context, _ token.Token) (time.Time, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.renewed++
	if n.silent {
		n.mu.Unlock()
		<-ctx.Done()
		n.mu.Lock()
		return time.Time{}, ctx.Err()
	}
	return time.Now().Add(day), n.err
}

func (n *nameNode) CancelToken(context.Context, token.Token) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancelled++
	return n.err
}

func (n *nameNode) answer(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// bench is a set of carried tokens with its surroundings.
type bench struct {
	*testing.T
	loop    *looptest.Loop
	issuer  *Issuer
	carried *Carried
	hdfs    *nameNode
	apps    int32
}

// hdfsToken is a token of the NameNode's.
var hdfsToken = token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: []byte("id"), Password: []byte("pw")}

func withCarried(t *testing.T, change func(*Calls), test func(b *bench)) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, is *Issuer) {
		calls := Calls{Timeout: time.Minute, Pause: time.Minute, Tries: 10}
		if change != nil {
			change(&calls)
		}
		log := logrus.New()
		log.SetOutput(io.Discard)
		hdfs := &nameNode{}
		test(&bench{
			T: t, loop: loop, issuer: is, hdfs: hdfs,
			carried: NewCarried(loop, loop.State, is, hdfs, calls, logrus.NewEntry(log)),
		})
	})
}

// add has an application begin with tokens, and asks to have them cancelled after it or not.
func (b *bench) add(cancel bool, tokens ...token.Token) records.ApplicationID {
	b.Helper()
	var c token.Credentials
	for _, tok := range tokens {
		c.SetToken(tok.Service+string(tok.Identifier), tok)
		c.SetToken("another alias "+tok.Service+string(tok.Identifier), tok)
	}
	raw, err := c.Encode(token.FormatWritable)
	if err != nil {
		b.Fatal(err)
	}
	return b.addRaw(cancel, append(raw, 0, 0, 0)) // Spark leaves zeros behind them
}

func (b *bench) addRaw(cancel bool, credentials []byte) records.ApplicationID {
	b.apps++
	id := records.ApplicationID{ClusterTimestamp: 1, ID: b.apps}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetAmContainerSpec(pb.ContainerLaunchContext_builder{Tokens: credentials}.Build())
	ctx.SetCancelTokensWhenComplete(cancel)
	_ = b.loop.Do(func() error { b.carried.AppBegan(&ledger.Application{ID: id, Context: ctx}); return nil })
	return id
}

func (b *bench) end(id records.ApplicationID) {
	_ = b.loop.Do(func() error { b.carried.AppEnded(id); return nil })
	synctest.Wait()
}

// pass lets time pass, with a Tick each ten seconds.
func (b *bench) pass(d time.Duration) {
	const step = 10 * time.Second
	for ; d > 0; d -= step {
		_ = b.loop.Do(func() error { b.carried.Tick(b.loop.Now()); return nil })
		time.Sleep(min(d, step))
	}
	synctest.Wait()
}

// expect checks how often the NameNode was called so far.
func (b *bench) expect(when string, renewed, cancelled int) {
	b.Helper()
	b.hdfs.mu.Lock()
	defer b.hdfs.mu.Unlock()
	if b.hdfs.renewed != renewed || b.hdfs.cancelled != cancelled {
		b.Errorf("%s: renewed %d times, not %d, and cancelled %d times, not %d", when, b.hdfs.renewed, renewed, b.hdfs.cancelled, cancelled)
	}
}

func (b *bench) forgotten() {
	b.Helper()
	if len(b.carried.all) != 0 || len(b.carried.of) != 0 {
		b.Errorf("after all applications: %v of %v", b.carried.all, b.carried.of)
	}
}

func TestOwnTokensAreRenewedUpToTheirLastDay(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		tok := issue(t, b.issuer, "yarn")
		issue(t, b.issuer, "yarn") // which no application has
		b.add(true, tok)
		last := time.Now().Add(lifetime).UnixMilli()
		b.pass(30 * time.Hour)
		if d := b.loop.State.Delegations; d[1].RenewBy < time.Now().UnixMilli() || d[2].RenewBy > time.Now().UnixMilli() {
			t.Errorf("after 30 hours: %v", d)
		}
		b.pass(lifetime)
		if by := b.loop.State.Delegations[1].RenewBy; by != last {
			t.Errorf("renewed until %d, and may be until %d", by, last)
		}
	})
}

func TestTokensWithoutARenewerAreNotRenewed(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		b.add(true, issue(t, b.issuer, ""))
		first := b.loop.State.Delegations[1].RenewBy
		b.pass(20 * time.Hour)
		if by := b.loop.State.Delegations[1].RenewBy; by != first {
			t.Errorf("renewed until %d", by)
		}
	})
}

func TestTheLastApplicationTakesATokenAlong(t *testing.T) {
	withCarried(t, func(c *Calls) { c.CancelDelay = 10 * time.Minute }, func(b *bench) {
		own := issue(t, b.issuer, "yarn")
		first, second := b.add(true, own, hdfsToken), b.add(true, own, hdfsToken)
		b.pass(48 * time.Hour)
		b.expect("two days", 3, 0) // at once, and each time after nine tenths of a day
		b.end(first)
		b.pass(time.Hour)
		b.expect("under the second application", 3, 0)
		if len(b.loop.State.Delegations) != 1 {
			t.Error("the own token is gone under the second application")
		}
		b.end(second)
		if len(b.loop.State.Delegations) != 0 {
			t.Error("the own token is there after its last application")
		}
		b.pass(9 * time.Minute)
		b.expect("while logs are uploaded", 3, 0)
		b.pass(2 * time.Minute)
		b.expect("after that", 3, 1)
		b.forgotten()
	})
}

// The end of an application must not be known to a NameNode before it is committed.
// While a node says that it still uploads an application's logs, HDFS's token isn't cancelled. What it says of other applications counts nothing.
func TestTokensAreKeptWhileLogsAreUploaded(t *testing.T) {
	withCarried(t, func(c *Calls) { c.CancelDelay = 10 * time.Minute }, func(b *bench) {
		app := b.add(true, hdfsToken)
		b.pass(time.Minute)
		b.carried.calls.Handed.Keep([]*pb.ApplicationId{app.PB(), {}, nil}) // it lives
		b.end(app)
		for range 10 {
			b.pass(8 * time.Minute)
			b.expect("while a node says so", 1, 0)
			b.carried.calls.Handed.Keep([]*pb.ApplicationId{app.PB(), {}, records.ApplicationID{ID: 99}.PB()})
		}
		b.pass(9 * time.Minute)
		b.expect("before the delay is over", 1, 0)
		b.pass(2 * time.Minute)
		b.expect("after it", 1, 1)
		b.carried.calls.Handed.Keep([]*pb.ApplicationId{app.PB()})
		b.pass(time.Hour)
		b.expect("when it's over", 1, 1)
		if h := b.carried.calls.Handed; len(h.late)+len(h.kept)+len(b.carried.late)+len(b.carried.handed) > 0 {
			t.Errorf("left are %v, %v, %v and %v", h.late, h.kept, b.carried.late, b.carried.handed)
		}
	})
}

func TestTokensAreCancelledAfterTheCommit(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		id := b.add(true, hdfsToken, issue(t, b.issuer, "yarn"))
		_ = b.loop.Operate(func() error {
			b.loop.Enter(&ledgerpb.Command{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}}) // stands for the end
			b.carried.AppEnded(id)
			return nil
		})
		synctest.Wait()
		b.expect("before the commit", 0, 0)
		b.loop.Commit()
		synctest.Wait()
		b.expect("after the commit", 0, 1)
	})
}

func TestApplicationsSpareTheirTokens(t *testing.T) {
	for always, cancelled := range map[bool]int{false: 0, true: 1} {
		withCarried(t, func(c *Calls) { c.CancelAlways = always }, func(b *bench) {
			own := issue(t, b.issuer, "yarn")
			for _, id := range []records.ApplicationID{b.add(true, own, hdfsToken), b.add(false, own, hdfsToken), b.add(true, own, hdfsToken)} {
				b.end(id)
			}
			b.expect(fmt.Sprintf("always cancelled: %v", always), 0, cancelled)
			if n := len(b.loop.State.Delegations); n != 1-cancelled {
				t.Errorf("always cancelled: %v, and %d tokens are left", always, n)
			}
			b.forgotten()
		})
	}
}

// A NameNode that doesn't answer is called again, as often as the configuration says. One that refuses isn't.
func TestFailedRenewals(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		b.hdfs.answer(errors.New("connection refused"))
		b.add(true, hdfsToken)
		b.pass(5*time.Minute + 30*time.Second)
		b.expect("unanswered for five and a half minutes", 6, 0)
		b.hdfs.answer(fmt.Errorf("renew: %w", &ipc.RemoteError{Class: ipc.AccessControlException, Text: "not your token"}))
		b.pass(time.Hour)
		b.expect("refused", 7, 0)
	})
	withCarried(t, nil, func(b *bench) {
		b.hdfs.answer(errors.New("connection refused"))
		b.add(true, hdfsToken)
		b.pass(time.Hour)
		b.expect("given up", 10, 0)
	})
}

func TestFailedCancellations(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		first := b.add(true, hdfsToken)
		b.pass(time.Minute)
		b.hdfs.answer(errors.New("connection refused"))
		b.end(first)
		b.pass(150 * time.Second)
		b.expect("unanswered for two and a half minutes", 1, 3)
		b.hdfs.answer(nil)
		second := b.add(true, hdfsToken) // which needs the token again
		b.pass(time.Hour)
		b.expect("under another application", 2, 3)
		b.hdfs.answer(errors.New("connection refused"))
		b.end(second)
		b.pass(time.Hour)
		b.expect("given up", 2, 13)
		b.forgotten()
	})
}

// The bearer of a forged token knows the identifier of a real one, but not its password.
func TestForgedTokensAreLeftAlone(t *testing.T) {
	withCarried(t, nil, func(b *bench) {
		tok := issue(t, b.issuer, "yarn")
		tok.Password = []byte("guess")
		b.end(b.add(true, tok))
		if len(b.loop.State.Delegations) != 1 {
			t.Error("a forged token cancelled the real one")
		}
	})
}

// Credentials come from clients.
func FuzzCredentials(f *testing.F) {
	for _, raw := range []string{"HDTS", "nonsense", "HDTS\x00\x7f", "HDTS\x01\xff\xff\xff\xff\x0f"} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		withCarried(t, nil, func(b *bench) {
			b.end(b.addRaw(true, raw))
			b.forgotten()
		})
	})
}
