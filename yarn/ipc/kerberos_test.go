package ipc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	krbtypes "github.com/jcmturner/gokrb5/v8/types"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

const recordedRM = "rm/localhost@LAB.TEST"

// recordedAcceptor has the keys and the clock of a recording.
func recordedAcceptor(t testing.TB, r recording, away time.Duration) *kerberos.Acceptor {
	t.Helper()
	k, err := kerberos.OpenKeytab(kerberostest.Recorded(t, "../kerberos/testdata/keys.txt", ""))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 28, 18, 0, 0, 0, time.UTC) // for requests that don't tell theirs
	for _, p := range r.packets[1:] {
		parts, ok := split(p.raw)
		var m pb.RpcSasl
		if !p.client || !ok || len(parts) < 2 || proto.Unmarshal(parts[1], &m) != nil || m.GetState() != pb.RpcSasl_INITIATE {
			continue
		}
		if i := bytes.Index(m.GetToken(), []byte{1, 0, 0x6e}); i > 0 {
			var req messages.APReq
			if req.Unmarshal(m.GetToken()[i+2:]) == nil && req.Ticket.DecryptEncPart(k.Keys(), nil) == nil && req.DecryptAuthenticator(req.Ticket.DecryptedEncPart.Key) == nil {
				at = req.Authenticator.CTime
			}
		}
	}
	return &kerberos.Acceptor{Principal: recordedRM, Keytab: k, Replays: kerberos.NewReplays(), Now: func() time.Time { return at.Add(away) }}
}

// said is what a server's packet says, without what is random in it.
func said(t testing.TB, raw []byte) string {
	t.Helper()
	parts, ok := split(raw)
	if !ok || len(parts) == 0 {
		t.Fatalf("packet %x", raw)
	}
	var h pb.RpcResponseHeader
	mustUnmarshal(t, parts[0], &h)
	out := fmt.Sprintf("call %d %v", int32(h.GetCallId()), h.GetStatus())
	if h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
		text, _, _ := strings.Cut(h.GetErrorMsg(), "\n")
		return out + fmt.Sprintf(" %v %s: %s", h.GetErrorDetail(), h.GetExceptionClassName(), text)
	}
	if int32(h.GetCallId()) != -33 {
		return out
	}
	var m pb.RpcSasl
	mustUnmarshal(t, parts[1], &m)
	out += fmt.Sprintf(" %v", m.GetState())
	switch n := len(m.GetToken()); {
	case n > 100: // the number in an AP-REP takes three or four bytes
		out += " AP-REP"
	case m.HasToken():
		out += fmt.Sprintf(" token of %d", n)
	}
	for _, a := range m.GetAuths() {
		out += fmt.Sprintf(" %s/%s/%s/%s", a.GetMethod(), a.GetMechanism(), a.GetProtocol(), a.GetServerId())
	}
	return out
}

// Right and wrong handshakes that were played to a stock ResourceManager have the same answers from our server, with the recording's keys and clock.
func TestRecordedKerberosHandshakes(t *testing.T) {
	away := map[string]time.Duration{"skew-minus-10m": 10 * time.Minute, "skew-plus-4m": -4 * time.Minute}
	cases := loadRecordings(t, "kerberos")
	for _, r := range cases {
		t.Run(r.name, func(t *testing.T) {
			protocolName := protocol.ApplicationClient.Name
			_, addr := serve(t, ipc.ServerConfig{
				Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: newKey(t)}, Kerberos: recordedAcceptor(t, r, away[r.name]),
				Short: func(name string) (string, error) { short, _, _ := strings.Cut(name, "@"); return short, nil },
			}, func(s *ipc.Server) {
				protocol.GetNewApplication.Serve(s, func(context.Context, *pb.GetNewApplicationRequest) (*pb.GetNewApplicationResponse, error) {
					return &pb.GetNewApplicationResponse{}, nil
				})
				protocol.GetApplications.Serve(s, func(context.Context, *pb.GetApplicationsRequest) (*pb.GetApplicationsResponse, error) {
					return &pb.GetApplicationsResponse{}, nil
				})
				protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
					return &pb.GetClusterMetricsResponse{}, nil
				})
				if _, ok := s.Protocol(protocolName); !ok {
					t.Errorf("%s isn't served", protocolName)
				}
			})
			c := dialRaw(t, addr)
			for i, p := range r.packets {
				if len(p.raw) == 7 && string(p.raw[:4]) == "hrpc" && i > 0 { // the second connection of a replay
					c = dialRaw(t, addr)
				}
				if p.client {
					c.send(p.raw)
					continue
				}
				got := c.packet()
				if got == nil {
					t.Fatalf("packet %d: the connection ended; want %s", i, said(t, p.raw))
				}
				if got, want := said(t, got), said(t, p.raw); got != want {
					t.Errorf("packet %d: got\n%s, want\n%s", i, got, want)
				}
			}
		})
	}
	if len(cases) < 20 {
		t.Errorf("only %d recordings", len(cases))
	}
}

// ticketsOf are those of a client of a realm of the tests.
type ticketsOf struct {
	ticket kerberos.Ticket
	asked  string
	err    error
}

func (s *ticketsOf) Ticket(_ context.Context, service, host string) (kerberos.Ticket, error) {
	s.asked = service + "/" + host
	return s.ticket, s.err
}

const testService = "rm/host.example.com@EXAMPLE.COM"

// kerberosWorld is a server's acceptor, and a client with a ticket for it.
func kerberosWorld(t testing.TB, account string) (*kerberos.Acceptor, *ticketsOf) {
	t.Helper()
	e := kerberostest.Entry{Principal: testService, Version: 1, Cipher: 18, Key: bytes.Repeat([]byte{3}, 32)}
	path := filepath.Join(t.TempDir(), "keytab")
	kerberostest.Write(t, path, []kerberostest.Entry{e})
	k, err := kerberos.OpenKeytab(path)
	if err != nil {
		t.Fatal(err)
	}
	name := krbtypes.PrincipalName{NameType: 1, NameString: strings.Split(account, "/")}
	now := time.Now().UTC()
	ticket, key, err := messages.NewTicket(name, "EXAMPLE.COM", krbtypes.PrincipalName{NameType: 2, NameString: []string{"rm", "host.example.com"}}, "EXAMPLE.COM",
		krbtypes.NewKrbFlags(), k.Keys(), 18, 1, now, now, now.Add(time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &kerberos.Acceptor{Principal: testService, Keytab: k, Replays: kerberos.NewReplays()},
		&ticketsOf{ticket: kerberos.Ticket{Ticket: ticket, Key: key, Client: name, Realm: "EXAMPLE.COM"}}
}

// Client and server know each other by Kerberos, with each quality of protection. The handler sees the short name and the full one.
func TestKerberosCalls(t *testing.T) {
	for _, quality := range []sasl.Quality{sasl.Authentication, sasl.Integrity, sasl.Privacy} {
		a, tickets := kerberosWorld(t, "nm/node1.example.com")
		calls := make(chan ipc.Call, 2)
		var authorized []string
		_, addr := serve(t, ipc.ServerConfig{
			Auth: ipc.AuthKerberos, Kerberos: a, Protection: sasl.Qualities{quality}, Short: func(string) (string, error) { return "yarn", nil },
			Authorize: func(protocol string, p *ipc.Peer) error {
				authorized = append(authorized, protocol+" "+p.Principal)
				return nil
			},
		}, func(s *ipc.Server) {
			whoAmI(calls)(s)
			echo(s)
		})
		var w wire
		c := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{quality}, Dial: w.dial})
		who := ipc.Identity{User: "nm/node1.example.com@EXAMPLE.COM", Kerberos: tickets}
		if err := statuses(t, c, addr, who); err != nil {
			t.Fatalf("%v: %v", quality, err)
		}
		got := <-calls
		if got.User != "yarn" || got.Principal != who.User || got.RealUser != "" || got.Auth != ipc.AuthMethodKerberos || got.Auth.String() != "KERBEROS" {
			t.Errorf("%v: peer %+v", quality, got.Peer)
		}
		if tickets.asked != "rm/host.example.com" || len(authorized) != 1 || authorized[0] != protocol.ContainerManagement.Name+" "+who.User {
			t.Errorf("%v: asked for a ticket of %s; authorized %q", quality, tickets.asked, authorized)
		}
		want := strings.Repeat("legible", 50_000)
		resp, err := protocol.GetQueueInfo.Call(testContext(t), c.Endpoint(addr, protocol.ApplicationClient, who), ask(want))
		if err != nil || resp.GetQueueInfo().GetQueueName() != want {
			t.Errorf("%v: %v", quality, err)
		}
		if sent, read := w.shown("legible"); sent != (quality != sasl.Privacy) || read != sent {
			t.Errorf("%v: legible when sent %v, when read %v", quality, sent, read)
		}
	}
}

// By Kerberos one may act for another if the server allows it.
func TestKerberosProxies(t *testing.T) {
	a, tickets := kerberosWorld(t, "oozie")
	calls := make(chan ipc.Call, 1)
	_, addr := serve(t, ipc.ServerConfig{
		Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: newKey(t)}, Kerberos: a,
		Short: func(name string) (string, error) { short, _, _ := strings.Cut(name, "@"); return short, nil },
		MayImpersonate: func(realUser, user string, _ netip.Addr) error {
			if realUser == "oozie" && user == "alice" {
				return nil
			}
			return errors.New("not allowed")
		},
	}, whoAmI(calls))
	c := newClient(t, ipc.ClientConfig{})
	if err := statuses(t, c, addr, ipc.Identity{User: "alice", RealUser: "oozie@EXAMPLE.COM", Kerberos: tickets}); err != nil {
		t.Fatal(err)
	}
	if got := <-calls; got.User != "alice" || got.RealUser != "oozie" || got.Principal != "oozie@EXAMPLE.COM" {
		t.Errorf("peer %+v", got.Peer)
	}
	err := statuses(t, c, addr, ipc.Identity{User: "bob", RealUser: "oozie@EXAMPLE.COM", Kerberos: tickets})
	if !ipc.IsClass(err, ipc.AuthorizationException) || !strings.Contains(err.Error(), "User: oozie@EXAMPLE.COM is not allowed to impersonate bob") {
		t.Errorf("for bob: %v", err)
	}
}

// Without a ticket nobody gets in, a token counts where tokens do, and who isn't authorized for a protocol is refused.
func TestKerberosRefusals(t *testing.T) {
	a, tickets := kerberosWorld(t, "alice")
	key := newKey(t)
	calls := make(chan ipc.Call, 1)
	_, both := serve(t, ipc.ServerConfig{Auth: ipc.AuthTokenOrKerberos, Secrets: nmSecrets{key: key}, Kerberos: a}, whoAmI(calls))
	_, only := serve(t, ipc.ServerConfig{
		Auth: ipc.AuthKerberos, Kerberos: a, Authorize: func(_ string, p *ipc.Peer) error {
			return fmt.Errorf("User %s (auth:%v) is not authorized", p.Principal, p.Auth)
		},
	}, whoAmI(calls))
	_, simple := serve(t, ipc.ServerConfig{}, whoAmI(calls))
	_, tokens := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}}, whoAmI(calls))
	c := newClient(t, ipc.ClientConfig{})
	alice := ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets}
	withToken := ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets, Token: nmToken(key)}
	missing := ipc.Identity{User: "bob@EXAMPLE.COM", Kerberos: &ticketsOf{err: errors.New("run kinit")}}
	for name, x := range map[string]struct {
		addr string
		who  ipc.Identity
		want string // "": none
	}{
		"no ticket":                  {both, ipc.Identity{User: "alice"}, "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"},
		"no ticket, no tokens":       {only, ipc.Identity{User: "alice"}, "SIMPLE authentication is not enabled.  Available:[KERBEROS]"},
		"a token where none counts":  {only, ipc.Identity{Token: nmToken(key)}, "wants one of [KERBEROS]"},
		"a token and a ticket":       {both, withToken, ""},
		"no ticket to be had":        {both, missing, "run kinit"},
		"not authorized":             {only, alice, "User alice@EXAMPLE.COM (auth:KERBEROS) is not authorized"},
		"a server without proof":     {simple, alice, "the server asks for no proof"},
		"a server that wants tokens": {tokens, alice, "wants one of [TOKEN]"},
		"a ticket":                   {both, alice, ""},
	} {
		err := statuses(t, c, x.addr, x.who)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if got := <-calls; (got.Auth == ipc.AuthMethodToken) != (x.who.Token != nil) {
				t.Errorf("%s: by %v", name, got.Auth)
			}
		}
	}
	for _, cfg := range []ipc.ServerConfig{
		{Auth: ipc.AuthKerberos}, {Auth: ipc.AuthTokenOrKerberos, Kerberos: a}, {Auth: ipc.AuthKerberos, Kerberos: &kerberos.Acceptor{Principal: "rm@EXAMPLE.COM"}},
	} {
		if s, err := ipc.NewServer(cfg); err == nil {
			s.Close()
			t.Errorf("a server of %+v", cfg)
		}
	}
}

// While more clients come at once than there are processors, their tickets are checked by half of the processors, and a client who is in is served. Then all are let in.
func TestTicketsOfManyAreCheckedByFewProcessors(t *testing.T) {
	const many = 32
	a, tickets := kerberosWorld(t, "alice")
	calls := make(chan ipc.Call, many+2)
	who := ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets}
	var slow atomic.Bool
	var checked, most atomic.Int64
	next := make(chan struct{})
	a.Now = func() time.Time {
		if slow.Load() {
			n := checked.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-next
			checked.Add(-1)
		}
		return time.Now()
	}
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthKerberos, Kerberos: a}, whoAmI(calls))
	in := newClient(t, ipc.ClientConfig{})
	if err := statuses(t, in, addr, who); err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	var all errgroup.Group
	for range many {
		c, own := newClient(t, ipc.ClientConfig{}), *tickets
		who := ipc.Identity{User: who.User, Kerberos: &own}
		all.Go(func() error { return statuses(t, c, addr, who) })
	}
	limit := int64(max(1, runtime.GOMAXPROCS(0)/2))
	await.Until(t, "tickets are checked", func() bool { return checked.Load() >= limit })
	if err := statuses(t, in, addr, who); err != nil {
		t.Error(err)
	}
	for range many {
		next <- struct{}{}
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	if most.Load() > limit {
		t.Errorf("%d tickets were checked at once, with %d processors", most.Load(), runtime.GOMAXPROCS(0))
	}
}
