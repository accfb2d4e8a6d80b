package delegation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// proxying is a NameNode that gives tokens for users, which live for two days.
type proxying struct {
	*nameNode
	given []string      // users
	keys  []token.Token // of a Key Management Server
	no    error
}

const tokenLife = 2 * day

func (p *proxying) TokensFor(_ context.Context, user string) ([]token.Token, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.no != nil {
		return nil, p.no
	}
	p.given = append(p.given, user)
	return append([]token.Token{tokenOf(user, len(p.given))}, p.keys...), nil
}

func tokenOf(user string, n int) token.Token {
	id := token.HDFS{Owner: user, Renewer: "yarn", IssueMS: time.Now().UnixMilli(), MaxMS: time.Now().Add(tokenLife).UnixMilli(), Sequence: int32(n)}
	return token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: id.Encode(), Password: []byte("pw")}
}

// RenewToken refuses tokens after their last day.
func (p *proxying) RenewToken(ctx context.Context, t token.Token) (time.Time, error) {
	until, err := p.nameNode.RenewToken(ctx, t)
	id, wrong := token.ParseHDFS(t.Identifier)
	if err != nil || wrong != nil {
		return until, errors.Join(err, wrong)
	}
	last := time.UnixMilli(id.MaxMS)
	if time.Now().After(last) {
		return until, &ipc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken", Text: "Token has expired"}
	}
	if until.After(last) {
		until = last
	}
	return until, nil
}

// withProxy is a bench on a secure cluster whose ResourceManager may act for users.
func withProxy(t *testing.T, proxy bool, test func(b *bench, nn *proxying, handed *Handed)) {
	withCarried(t, nil, func(b *bench) {
		nn, handed := &proxying{nameNode: b.hdfs}, NewHanded()
		calls := b.carried.calls
		calls.Strict, calls.Handed, calls.CancelDelay = true, handed, 10*time.Minute
		if proxy {
			calls.Proxy = Proxy{Get: nn, Remaining: 3 * time.Hour}
		}
		b.carried = NewCarried(b.loop, b.loop.State, b.issuer, nn, calls, b.carried.log)
		test(b, nn, handed)
	})
}

// live has an application of a user's begin, which the ledger knows.
func (b *bench) live(user string, tokens ...token.Token) records.ApplicationID {
	b.Helper()
	b.apps++
	id := records.ApplicationID{ClusterTimestamp: 1, ID: b.apps}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetCancelTokensWhenComplete(true)
	if len(tokens) > 0 {
		var c token.Credentials
		for _, tok := range tokens {
			c.SetToken(tok.Service+string(tok.Identifier), tok)
		}
		raw, err := c.Encode(token.FormatWritable)
		if err != nil {
			b.Fatal(err)
		}
		ctx.SetAmContainerSpec(pb.ContainerLaunchContext_builder{Tokens: raw}.Build())
	}
	app := &ledger.Application{ID: id, User: user, Context: ctx}
	_ = b.loop.Do(func() error {
		b.loop.State.Apps[id] = app
		b.carried.AppBegan(app)
		return nil
	})
	return id
}

// launched has an earlier leader have started an application's ApplicationMaster.
func (b *bench) launched(id records.ApplicationID) {
	at := &ledger.Attempt{ID: records.AttemptID{App: id, Attempt: 1}, State: ledger.AttemptLaunched}
	_ = b.loop.Do(func() error { b.loop.State.Apps[id].Attempts = append(b.loop.State.Apps[id].Attempts, at); return nil })
}

// over ends an application.
func (b *bench) over(id records.ApplicationID) {
	_ = b.loop.Do(func() error { b.loop.State.Apps[id].State = ledger.AppFinished; return nil })
	b.end(id)
}

// has is which token a node has for an application that was told the last answer, "" for none.
func has(t *testing.T, h *Handed, node records.NodeID, app records.ApplicationID) string {
	t.Helper()
	all, told := h.Beat(node, 0)
	if again, same := h.Beat(node, told); len(again) > 0 || same != told {
		t.Errorf("a node that has everything is told %v again", again)
	}
	for _, m := range all {
		if records.ApplicationIDFrom(m.GetAppId()) == app {
			c, err := token.DecodeCredentials(m.GetCredentialsForApp())
			if err != nil || len(c.Tokens) != 1 {
				t.Fatalf("%v, %v", c, err)
			}
			id, err := token.ParseHDFS(c.Tokens[0].Token.Identifier)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(id.Owner, id.Sequence)
		}
	}
	return ""
}

var someNode = records.NodeID{Host: "n1", Port: 8041}

// An application without a token for HDFS gets one, which is renewed, replaced before it ends, and cancelled after the application.
func TestApplicationsWithoutATokenGetOne(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		app := b.live("alice")
		b.pass(time.Minute)
		if got := has(t, handed, someNode, app); got != "alice1" {
			t.Fatalf("a node has %q", got)
		}
		b.expect("it is renewed at once", 1, 0)
		b.pass(tokenLife + day)
		if got := has(t, handed, someNode, app); got != "alice2" {
			t.Errorf("after three days a node has %q of %v", got, nn.given)
		}
		b.over(app)
		b.pass(9 * time.Minute)
		if got := has(t, handed, someNode, app); got != "alice2" {
			t.Errorf("while logs are uploaded a node has %q", got)
		}
		b.pass(2 * time.Minute)
		if got := has(t, handed, someNode, app); got != "" || nn.cancelled != 1 {
			t.Errorf("after that it has %q; %d tokens are cancelled", got, nn.cancelled)
		}
		b.forgotten()
	})
}

// An application whose own token can't be renewed for much longer gets another one; one with a token that lives gets none.
func TestTokensThatEndAreReplaced(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		app := b.live("alice", tokenOf("alice", 100))
		b.pass(day)
		if got := has(t, handed, someNode, app); got != "" {
			t.Errorf("after a day a node has %q", got)
		}
		b.pass(day)
		if got := has(t, handed, someNode, app); got != "alice1" {
			t.Errorf("after two days a node has %q", got)
		}
		// The next leader finds the first token expired.
		b.carried = NewCarried(b.loop, b.loop.State, b.issuer, nn, b.carried.calls, b.carried.log)
		b.pass(time.Hour)
		_ = b.loop.Do(func() error { b.carried.AppBegan(b.loop.State.Apps[app]); return nil })
		b.pass(time.Minute)
		if got := has(t, handed, someNode, app); got != "alice2" {
			t.Errorf("under the next leader a node has %q", got)
		}
	})
}

// Without proxy-user-privileges nothing is got.
func TestNothingIsGotUnasked(t *testing.T) {
	withProxy(t, false, func(b *bench, nn *proxying, handed *Handed) {
		app := b.live("alice")
		b.pass(3 * day)
		if all, sequence := handed.Beat(someNode, 0); len(nn.given)+len(all) > 0 || sequence != 1 {
			t.Errorf("got %v, and a node is told %v", nn.given, all)
		}
		if err := handed.Await(context.Background(), someNode, app); err != nil {
			t.Error(err)
		}
	})
}

// The first container starts when its node has the token; if none can be got, it doesn't wait for ever.
func TestTheFirstContainerWaitsForItsToken(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		app := b.live("alice")
		started := make(chan error, 1)
		go func() { started <- handed.Await(context.Background(), someNode, app) }()
		b.pass(time.Minute)
		_, told := handed.Beat(someNode, 0)
		synctest.Wait()
		select {
		case <-started:
			t.Error("it begins on a node without the token")
		default:
		}
		handed.Beat(someNode, told)
		if err := <-started; err != nil {
			t.Error(err)
		}
	})
}

// An application fails for which no token can be got, in the words of who gives none; one whose ApplicationMaster an earlier leader has started gets one later.
func TestApplicationsFailForWhichNoTokenIsGot(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		nn.no = errors.New("the Key Management Server is away")
		app, old := b.live("bob"), b.live("alice")
		b.launched(old)
		b.pass(20 * time.Second)
		if err := handed.Await(t.Context(), someNode, app); !refusal.Is(err, refusal.Refused) || err.Error() != "Failed to get tokens of HDFS for bob: the Key Management Server is away" {
			t.Errorf("without a token: %v", err)
		}
		if err := handed.Await(t.Context(), someNode, old); err != nil {
			t.Errorf("one that runs: %v", err)
		}
		b.over(app)
		nn.no = nil
		b.pass(2 * time.Minute)
		if got := has(t, handed, someNode, old); got != "alice1" {
			t.Errorf("a later try gets %q", got)
		}
	})
}

// With Kerberos an application fails at once if the issuer of its token, or the KDC, is away. If it is silent, the call is repeated, as Hadoop does. One that has
// begun goes on, and its token is renewed when the issuer is back.
func TestTokensWhoseIssuerIsAway(t *testing.T) {
	withProxy(t, false, func(b *bench, nn *proxying, handed *Handed) {
		b.hdfs.answer(errors.New("connection refused"))
		app, old := b.live("alice", tokenOf("alice", 1)), b.live("alice", tokenOf("alice", 2))
		b.launched(old)
		b.pass(20 * time.Second)
		if err := handed.Await(t.Context(), someNode, app); err == nil || !strings.HasPrefix(err.Error(), "Failed to renew token: Kind: HDFS_DELEGATION_TOKEN") {
			t.Errorf("one that begins: %v", err)
		}
		if err := handed.Await(t.Context(), someNode, old); err != nil {
			t.Errorf("one that runs: %v", err)
		}
		b.over(app)
		b.expect("at once", 2, 0)
		b.hdfs.answer(nil)
		b.pass(2 * time.Minute)
		b.expect("back", 3, 0)
	})
	withProxy(t, false, func(b *bench, nn *proxying, handed *Handed) {
		nn.silent = true
		app := b.live("alice", tokenOf("alice", 1))
		b.pass(3 * time.Minute)
		b.expect("silent for three minutes", 2, 0)
		nn.mu.Lock()
		nn.silent = false
		nn.mu.Unlock()
		b.pass(3 * time.Minute)
		if err := handed.Await(t.Context(), someNode, app); err != nil {
			t.Errorf("an issuer that was silent: %v", err)
		}
	})
}

// With Kerberos an application fails whose token can't be renewed as it begins, in Hadoop's words. Later failures aren't held against it.
func TestApplicationsFailWithoutGoodTokens(t *testing.T) {
	withProxy(t, false, func(b *bench, nn *proxying, handed *Handed) {
		why := func(id records.ApplicationID) string {
			err := handed.Await(context.Background(), someNode, id)
			if err != nil && !refusal.Is(err, refusal.Refused) {
				t.Error(err)
			}
			return fmt.Sprint(err)
		}
		good := b.live("alice", tokenOf("alice", 1))
		b.pass(time.Minute)
		if got := why(good); got != "<nil>" {
			t.Errorf("it fails with %q", got)
		}
		b.hdfs.answer(&ipc.RemoteError{Class: ipc.AccessControlException, Text: "not your token"})
		bad := b.live("alice", tokenOf("alice", 2))
		strange := b.live("alice", token.Token{Kind: token.KindDelegation, Identifier: token.Delegation{Owner: "alice", Renewer: "yarn", Sequence: 77}.Encode()})
		b.pass(2 * day)
		if got := why(bad); !strings.HasPrefix(got, "Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: 10.0.0.2:8020, Ident: (token for alice: ") {
			t.Errorf("it fails with %q", got)
		}
		if got := why(strange); !strings.HasPrefix(got, "Failed to renew token: Kind: RM_DELEGATION_TOKEN") {
			t.Errorf("with a token of ours that isn't there: %q", got)
		}
		if got := why(good); got != "<nil>" {
			t.Errorf("one that runs fails with %q", got)
		}
		b.over(bad)
		b.pass(time.Hour)
		if len(handed.refused) != 1 {
			t.Errorf("kept are %v", handed.refused)
		}
	})
}

// Flink and others bring tokens that name no renewer, and replace them by themselves. No NameNode would renew them: the application begins, and they are left alone, at its end, too.
func TestTokensThatNameNoRenewer(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		b.hdfs.answer(&ipc.RemoteError{Class: ipc.AccessControlException, Text: "yarn tried to renew a token (...) with non-matching renewer "})
		id := token.HDFS{Owner: "alice", MaxMS: time.Now().Add(tokenLife).UnixMilli(), Sequence: 9}
		app := b.live("alice", token.Token{Kind: token.KindHDFS, Service: "10.0.0.2:8020", Identifier: id.Encode(), Password: []byte("pw")}, issue(t, b.issuer, ""))
		b.pass(day)
		if err := handed.Await(t.Context(), someNode, app); err != nil {
			t.Errorf("its application fails: %v", err)
		}
		b.over(app)
		b.pass(time.Hour)
		b.expect("after its end", 0, 0)
		if len(b.loop.State.Delegations) != 1 || len(nn.given) > 0 {
			t.Errorf("%d of our tokens are left, and %d were got for the application", len(b.loop.State.Delegations), len(nn.given))
		}
	})
}

// A million applications don't ask a NameNode at once.
func TestTokensAreGotAFewAtATime(t *testing.T) {
	withProxy(t, true, func(b *bench, _ *proxying, _ *Handed) {
		gate := make(chan struct{})
		slow := &slowGetter{gate: gate}
		b.carried.calls.Proxy.Get = slow
		for range 10 * maxGets {
			b.live("alice")
		}
		b.pass(20 * time.Second)
		slow.expect(t, maxGets)
		close(gate)
		b.pass(20 * time.Second)
		slow.expect(t, 10*maxGets)
	})
}

type slowGetter struct {
	nameNode
	gate chan struct{}
	n    int
}

func (s *slowGetter) TokensFor(_ context.Context, user string) ([]token.Token, error) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	<-s.gate
	return []token.Token{tokenOf(user, n)}, nil
}

func (s *slowGetter) expect(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n != n {
		t.Errorf("%d tokens are asked for, not %d", s.n, n)
	}
}

// A token of the Key Management Server comes with that of HDFS. Both are renewed, replaced together, and cancelled after the application.
func TestTokensOfAKeyManagementServerComeAlong(t *testing.T) {
	withProxy(t, true, func(b *bench, nn *proxying, handed *Handed) {
		keys := func(n int) token.Token {
			id := token.HDFS{Owner: "alice", Renewer: "yarn", MaxMS: time.Now().Add(30 * day).UnixMilli(), Sequence: int32(1000 + n)}
			return token.Token{Kind: token.KindHDFS, Service: "kms://http@h:9600/kms", Identifier: id.Encode(), Password: []byte("keys")}
		}
		nn.keys = []token.Token{keys(1)}
		app := b.live("alice")
		b.pass(time.Minute)
		b.expect("both are renewed at once", 2, 0)
		if got := alongOf(t, handed, app); got != 2 {
			t.Errorf("a node has %d tokens", got)
		}
		nn.mu.Lock()
		nn.keys = []token.Token{keys(2)}
		nn.mu.Unlock()
		b.pass(tokenLife + day)
		var carried []string
		_ = b.loop.Do(func() error {
			for _, c := range b.carried.of[app] {
				carried = append(carried, c.token.Service)
			}
			return nil
		})
		if len(carried) != 2 || len(b.carried.all) != 2 {
			t.Errorf("after three days %d are renewed, %d in all", len(carried), len(b.carried.all))
		}
		if _, old := b.carried.all[nameOf(keys(1))]; old {
			t.Error("the first token of the Key Management Server is still renewed")
		}
		b.over(app)
		b.pass(11 * time.Minute)
		if len(b.carried.all) > 0 {
			t.Errorf("%d tokens outlive the application", len(b.carried.all))
		}
	})
}

// alongOf returns how many tokens nodes get for an application.
func alongOf(t *testing.T, h *Handed, app records.ApplicationID) int {
	t.Helper()
	all, _ := h.Beat(someNode, 0)
	for _, m := range all {
		if records.ApplicationIDFrom(m.GetAppId()) == app {
			c, err := token.DecodeCredentials(m.GetCredentialsForApp())
			if err != nil {
				t.Fatal(err)
			}
			return len(c.Tokens)
		}
	}
	return 0
}
