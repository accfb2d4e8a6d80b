package login

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/krb5conf"
	"heddle/yarn/sasl"
)

// talk has a login's client prove itself to a service.
func talk(t *testing.T, l *Login, a *kerberos.Acceptor) error {
	t.Helper()
	ticket, err := l.Ticket(context.Background(), "rm", "host.test")
	if err != nil {
		return err
	}
	c, s := kerberos.NewClient(ticket, sasl.Qualities{sasl.Privacy}, nil, nil), kerberos.NewServer(a, sasl.Qualities{sasl.Privacy})
	message, err := c.Start()
	for err == nil {
		answer, complete, refusal := s.Evaluate(message)
		if refusal != nil {
			return refusal
		}
		if complete {
			if s.Client() != l.Principal() {
				t.Errorf("the client is %s, want %s", s.Client(), l.Principal())
			}
			return nil
		}
		message, err = c.Respond(answer)
	}
	return err
}

// Against MIT's KDC: a daemon logs in by its keytab, once for many calls at a time, again after 80 % of the login's life, by the keytab's new version, and never
// twice within a minute. A command has the tickets of kinit.
func TestLoginsAtAKDC(t *testing.T) {
	const life = 10 * time.Hour
	k := kerberostest.StartKDC(t, life)
	service, node := "rm/host.test@"+k.Realm, "nm/node.test@"+k.Realm
	serviceKeys, nodeKeys := k.Keytab("rm.keytab", service), k.Keytab("nm.keytab", node, "alice@"+k.Realm)
	conf, err := krb5conf.Load(k.Conf)
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) *kerberos.Keytab {
		t.Helper()
		tab, err := kerberos.OpenKeytab(path)
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	a := &kerberos.Acceptor{Principal: service, Keytab: open(serviceKeys), Replays: kerberos.NewReplays()}
	l, err := FromKeytab(conf, open(nodeKeys), node)
	if err != nil {
		t.Fatal(err)
	}
	count := func(kind string) int {
		n := 0
		for line := range strings.Lines(k.Log()) {
			if strings.Contains(line, kind+"_REQ") && strings.Contains(line, ": ISSUE:") && strings.Contains(line, node) {
				n++
			}
		}
		return n
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := talk(t, l, a); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	logged := func(as, tgs int) { // the KDC answers before it logs
		t.Helper()
		await.Until(t, "the KDC has logged what it was asked", func() bool { return count("AS") >= as && count("TGS") >= tgs })
		if gotAS, gotTGS := count("AS"), count("TGS"); gotAS != as || gotTGS != tgs {
			t.Errorf("%d logins and %d requests for tickets, want %d and %d", gotAS, gotTGS, as, tgs)
		}
	}
	logged(1, 1)

	// After 80 % of its life a login is replaced; the old service ticket has ended by then. The keytab has new keys meanwhile.
	k.Keytab("nm.keytab", node)
	at := time.Now()
	l.mu.Lock()
	l.now = func() time.Time { return at }
	begun, first := l.session.start, l.session
	l.session.tickets = map[string]cached{}
	l.mu.Unlock()
	at = begun.Add(life * 79 / 100)
	if err := talk(t, l, a); err != nil || l.session != first {
		t.Errorf("at 79 %% of its life: %v, a new login: %v (%v)", err, l.session != first, l.err)
	}
	l.session.tickets = map[string]cached{}
	at = begun.Add(life * 81 / 100)
	if err := talk(t, l, a); err != nil || l.session == first {
		t.Errorf("at 81 %% of its life: %v, a new login: %v (%v)", err, l.session != first, l.err)
	}
	logged(2, 3)

	// A KDC that refuses is asked once a minute.
	if err := os.Remove(nodeKeys); err != nil {
		t.Fatal(err)
	}
	at = at.Add(2 * life)
	tried := 0
	begin := l.begin
	l.begin = func() (*session, error) { tried++; return begin() }
	for range 5 {
		if err := talk(t, l, a); err == nil || !strings.Contains(err.Error(), "logging in to Kerberos as "+node) || !strings.Contains(err.Error(), "nm.keytab") {
			t.Errorf("without a keytab: %v", err)
		}
	}
	at = at.Add(leastPause)
	_ = talk(t, l, a)
	if tried != 2 {
		t.Errorf("%d attempts, want 2", tried)
	}
}

// A KDC that takes requests and answers none holds up those alone that need it, and these no longer than they want, or than one request takes: tickets that are there are
// given at once, and callers in line learn at once what the first one has learned.
func TestASilentKDCHoldsUpNobody(t *testing.T) {
	t.Parallel()
	k := kerberostest.StartKDC(t, 10*time.Hour)
	way := k.Slow(t)
	node := "nm/node.test@" + k.Realm
	k.Keytab("rm.keytab", "rm/host.test@"+k.Realm, "rm/other.test@"+k.Realm)
	keys, err := kerberos.OpenKeytab(k.Keytab("nm.keytab", node))
	if err != nil {
		t.Fatal(err)
	}
	conf, err := krb5conf.Load(way.Conf)
	if err != nil {
		t.Fatal(err)
	}
	l, err := FromKeytab(conf, keys, node)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Ticket(t.Context(), "rm", "host.test"); err != nil {
		t.Fatal(err)
	}
	way.Silent(true)
	var waiting sync.WaitGroup
	begun := time.Now()
	for _, host := range []string{"a.test", "b.test", "c.test", "other.test", "other.test"} {
		waiting.Go(func() {
			if _, err := l.Ticket(context.Background(), "rm", host); err == nil {
				t.Errorf("a ticket for %s from a silent KDC", host)
			}
		})
	}
	await.Until(t, "the KDC is asked", func() bool { return way.Held() == 1 })
	if _, err := l.Ticket(t.Context(), "rm", "host.test"); err != nil {
		t.Errorf("a ticket that is there: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Ticket(short, "rm", "d.test"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller without patience: %v", err)
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("this took %v", took)
	}
	waiting.Wait()
	if n, took := way.Held(), time.Since(begun); n != 1 || took > 9*time.Second {
		t.Errorf("the KDC was asked %d times, and callers waited for %v", n, took)
	}
	way.Silent(false)
	l.mu.Lock()
	l.now = func() time.Time { return time.Now().Add(awayFor) }
	l.mu.Unlock()
	if _, err := l.Ticket(t.Context(), "rm", "other.test"); err != nil {
		t.Errorf("when the KDC answers again: %v", err)
	}
}

// A daemon that logs in later starts while the KDC is away, tries again, and has its tickets once the KDC is there.
func TestTheKDCIsAwayAtFirst(t *testing.T) {
	t.Parallel()
	k := kerberostest.StartKDC(t, time.Hour)
	node := "nm/node.test@" + k.Realm
	k.Keytab("rm.keytab", "rm/host.test@"+k.Realm)
	keys, err := kerberos.OpenKeytab(k.Keytab("nm.keytab", node))
	if err != nil {
		t.Fatal(err)
	}
	there, err := krb5conf.Load(k.Conf)
	if err != nil {
		t.Fatal(err)
	}
	known := *there.Config
	away := krb5conf.Config{Config: &known}
	away.Realms = slices.Clone(there.Realms)
	away.Realms[0].KDC = []string{"127.0.0.1:1"}
	l, err := Later(&away, keys, node)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Ticket(t.Context(), "rm", "host.test"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") && !strings.Contains(err.Error(), "KDC") {
		t.Errorf("from a KDC that is away: %v", err)
	}
	away.Realms[0].KDC = there.Realms[0].KDC
	if _, err := l.Ticket(t.Context(), "rm", "host.test"); err == nil {
		t.Error("it was tried again at once")
	}
	l.mu.Lock()
	l.now = func() time.Time { return time.Now().Add(firstPause) }
	l.mu.Unlock()
	if _, err := l.Ticket(t.Context(), "rm", "host.test"); err != nil {
		t.Errorf("when the KDC is there: %v", err)
	}
}

// A command takes the tickets of kinit, and says what to do without.
func TestTicketCaches(t *testing.T) {
	k := kerberostest.StartKDC(t, time.Hour)
	service, alice := "rm/host.test@"+k.Realm, "alice@"+k.Realm
	keys := k.Keytab("keytab", service, alice)
	conf, err := krb5conf.Load(k.Conf)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := kerberos.OpenKeytab(keys)
	if err != nil {
		t.Fatal(err)
	}
	a := &kerberos.Acceptor{Principal: service, Keytab: tab, Replays: kerberos.NewReplays()}
	if _, err := FromCache(conf, k.Cache()); err == nil || !strings.Contains(err.Error(), "run kinit") || !strings.Contains(err.Error(), k.Cache()) {
		t.Errorf("without a cache: %v", err)
	}
	k.Kinit(keys, alice, "-l", "30m")
	l, err := FromCache(conf, "FILE:"+k.Cache())
	if err != nil {
		t.Fatal(err)
	}
	if l.Principal() != alice {
		t.Errorf("the cache is of %s", l.Principal())
	}
	if err := talk(t, l, a); err != nil {
		t.Error(err)
	}
	later := 31 * time.Minute
	l.now = func() time.Time { return time.Now().Add(later) }
	if err := talk(t, l, a); err == nil || !strings.Contains(err.Error(), "run kinit") {
		t.Errorf("after half an hour: %v", err)
	}
	k.Kinit(keys, alice)
	later += 2 * time.Second
	if err := talk(t, l, a); err != nil {
		t.Errorf("kinit has put a new ticket there: %v", err)
	}
	later = 2 * time.Hour
	if err := talk(t, l, a); err == nil || !strings.Contains(err.Error(), "run kinit") {
		t.Errorf("after its end: %v", err)
	}
	k.Kinit(keys, service)
	later += 2 * time.Second
	if err := talk(t, l, a); err == nil || !strings.Contains(err.Error(), "is "+service+"'s by now, and not "+alice) {
		t.Errorf("kinit was run for another: %v", err)
	}
	if _, err := l.Ticket(t.Context(), "nobody", "host.test"); err == nil {
		t.Error("there is a ticket for a service that the KDC doesn't know")
	}
	for name, want := range map[string]string{"KCM:0": "kind KCM", "DIR:/tmp/x": "kind DIR", filepath.Join(k.Dir, "none"): "run kinit"} {
		if _, err := FromCache(conf, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := FromKeytab(conf, tab, "mallory@"+k.Realm); err == nil || !strings.Contains(err.Error(), "mallory@") {
		t.Errorf("a principal that the keytab lacks: %v", err)
	}
	if _, err := FromKeytab(conf, tab, "alice"); err == nil {
		t.Error("a principal without a realm")
	}
}

func FuzzParseCache(f *testing.F) {
	f.Add([]byte{5, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'R', 0, 0, 0, 1, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseCache(b); err == nil && c.GetClientRealm() == "" {
			t.Errorf("%x is of nobody", b)
		}
	})
}

// Where the clock of a KDC is an hour off, its tickets are refused, with a word about clocks. One that is four minutes off is as good as any.
func TestAKDCOfAnotherTime(t *testing.T) {
	t.Parallel()
	for ahead, good := range map[time.Duration]bool{time.Hour: false, -time.Hour: false, 4 * time.Minute: true, -4 * time.Minute: true} {
		k := kerberostest.StartKDCAhead(t, 10*time.Hour, ahead)
		node := "nm/node.test@" + k.Realm
		a := &kerberos.Acceptor{Principal: "rm/host.test@" + k.Realm, Replays: kerberos.NewReplays()}
		var err error
		if a.Keytab, err = kerberos.OpenKeytab(k.Keytab("rm.keytab", a.Principal)); err != nil {
			t.Fatal(err)
		}
		keys, err := kerberos.OpenKeytab(k.Keytab("nm.keytab", node))
		if err != nil {
			t.Fatal(err)
		}
		conf, err := krb5conf.Load(k.Conf)
		if err != nil {
			t.Fatal(err)
		}
		l, err := FromKeytab(conf, keys, node)
		if err == nil {
			err = talk(t, l, a)
		}
		if good && err != nil || !good && (err == nil || !strings.Contains(strings.ToLower(err.Error()), "clock")) {
			t.Errorf("%v ahead: %v", ahead, err)
		}
	}
}
