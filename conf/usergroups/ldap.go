package usergroups

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-ldap/ldap/v3"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/credential"
	"heddle/internal/bounded"
	"heddle/internal/keystore"
)

const ldapKey = mappingKey + ".ldap"

// maxEntries bounds what one search returns.
const maxEntries = 10_000

// server finds groups in a directory that speaks LDAP. It has one connection, which several look-ups share.
type server struct {
	urls         []string
	tls          *tls.Config
	users        []bindUser
	connect, ask time.Duration // limits of a connection, and of an answer
	limit        time.Duration // of a search, for the server
	tries, same  int           // look-ups in all, and by one server

	userBase, groupBase     string
	userFilter, groupFilter string
	memberOf, member, name  string // attributes
	hierarchy               int
	uid, gid                string // attributes
	posix                   bool

	log *logrus.Entry

	mu   sync.Mutex
	conn *ldap.Conn
	url  int // the current one
	user int
}

// bindUser is whom the server is shown.
type bindUser struct{ name, password string }

// directory reads the settings of LdapGroupsMapping.
func directory(c *conf.Config, log *logrus.Entry) (Source, error) {
	s := &server{
		urls: c.Strings(ldapKey + ".url"), log: log,
		connect: c.Duration(ldapKey + ".connection.timeout.ms"), ask: c.Duration(ldapKey + ".read.timeout.ms"), limit: c.Duration(ldapKey + ".directory.search.timeout"),
		tries: max(c.Int(ldapKey+".num.attempts"), 1), same: max(c.Int(ldapKey+".num.attempts.before.failover"), 1),
		userFilter: c.Text(ldapKey + ".search.filter.user"), groupFilter: c.Text(ldapKey + ".search.filter.group"),
		memberOf: c.Text(ldapKey + ".search.attr.memberof"), member: c.Text(ldapKey + ".search.attr.member"), name: c.Text(ldapKey + ".search.attr.group.name"),
		hierarchy: c.Int(ldapKey + ".search.group.hierarchy.levels"),
		uid:       c.Text(ldapKey + ".posix.attr.uid.name"), gid: c.Text(ldapKey + ".posix.attr.gid.name"),
	}
	base := c.Text(ldapKey + ".base")
	s.userBase, s.groupBase = cmp.Or(c.Text(ldapKey+".userbase"), base), cmp.Or(c.Text(ldapKey+".groupbase"), base)
	s.posix = strings.Contains(s.groupFilter, "posixGroup") && strings.Contains(s.userFilter, "posixAccount")
	if len(s.urls) == 0 {
		return nil, conf.ErrorAt(c, mappingKey, fmt.Errorf("LDAP needs %s.url, such as ldap://ldap.example.com", ldapKey))
	}
	if pattern := ldapKey + ".group.search.filter.pattern"; c.Text(pattern) != "" {
		return nil, conf.ErrorAt(c, pattern, errors.New("the filter of groups is filled with the user's name in LDAP alone; unset it"))
	}
	for key, filter := range map[string]string{
		ldapKey + ".search.filter.user":  fill(s.userFilter, "x"),
		ldapKey + ".search.filter.group": s.groupFilter,
	} {
		if _, err := ldap.CompileFilter(filter); err != nil {
			return nil, conf.ErrorAt(c, key, err)
		}
	}
	var err error
	if s.users, err = bindUsers(c); err != nil {
		return nil, err
	}
	if s.tls, err = trust(c); err != nil {
		return nil, err
	}
	if s.tls != nil { // as Hadoop, which speaks TLS to ldap:// then
		for i, url := range s.urls {
			if rest, plain := strings.CutPrefix(url, "ldap://"); plain {
				s.urls[i] = "ldaps://" + rest
			}
		}
	}
	return s.groups, nil
}

// ruled is LDAP's mapping whose names of groups are written in small or large letters (Hadoop: RuleBasedLdapGroupsMapping).
func ruled(c *conf.Config, log *logrus.Entry) (Source, error) {
	const key = ldapKey + ".conversion.rule"
	convert, ok := map[string]func(string) string{
		"none": func(s string) string { return s }, "to_upper": strings.ToUpper, "to_lower": strings.ToLower,
	}[c.Text(key)]
	if !ok {
		return nil, conf.ErrorAt(c, key, errors.New("want none, to_upper or to_lower"))
	}
	of, err := directory(c, log)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, user string) ([]string, error) {
		groups, err := of(ctx, user)
		for i := range groups {
			groups[i] = convert(groups[i])
		}
		return groups, err
	}, nil
}

// bindUsers reads whom the server is shown: one user, or several that are tried one after the other. Without any it is asked anonymously.
func bindUsers(c *conf.Config) ([]bindUser, error) {
	aliases := c.Strings(ldapKey + ".bind.users")
	prefixes := []string{ldapKey}
	if len(aliases) > 0 {
		prefixes = nil
		for _, alias := range aliases {
			prefixes = append(prefixes, ldapKey+".bind.users."+alias)
		}
	}
	var users []bindUser
	for _, prefix := range prefixes {
		name, _ := c.Get(prefix + ".bind.user")
		if name == "" {
			if len(aliases) > 0 {
				return nil, conf.ErrorAt(c, ldapKey+".bind.users", fmt.Errorf("set %s.bind.user", prefix))
			}
			return []bindUser{{}}, nil
		}
		password, err := secretOf(c, prefix, "bind.password")
		if err != nil {
			return nil, err
		}
		if password == "" {
			return nil, conf.ErrorAt(c, prefix+".bind.user", fmt.Errorf("%s needs a password: set %s.bind.password.file, or put %s.bind.password into a credential provider",
				name, prefix, prefix))
		}
		users = append(users, bindUser{name, password})
	}
	return users, nil
}

// secretOf returns a password: of a credential provider, under the name of its key or of KEY.alias; of the configuration; or of the file KEY.file.
func secretOf(c *conf.Config, prefix, name string) (string, error) {
	key := prefix + "." + name
	names := []string{key}
	if alias, ok := c.Get(key + ".alias"); ok {
		names = []string{alias, key}
	}
	for _, name := range names {
		if password, ok, err := credential.Password(c, name); ok || err != nil {
			return password, err
		}
	}
	file, ok := c.Get(key + ".file")
	if !ok || file == "" {
		return "", nil
	}
	b, err := bounded.ReadFile(file, 1<<10)
	if err != nil {
		return "", conf.ErrorAt(c, key+".file", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// trust returns how servers are known that speak TLS; nil without TLS.
func trust(c *conf.Config) (*tls.Config, error) {
	if !c.Bool(ldapKey + ".ssl") {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	own, err := storeAt(c, ldapKey+".ssl.keystore")
	if err != nil {
		return nil, err
	}
	for _, k := range own.Keys {
		cfg.Certificates = append(cfg.Certificates, k.Certificate())
	}
	known, err := storeAt(c, ldapKey+".ssl.truststore")
	if err != nil {
		return nil, err
	}
	for _, x := range append(known.Trusted, own.Trusted...) {
		if cfg.RootCAs == nil {
			cfg.RootCAs = x509.NewCertPool()
		}
		cfg.RootCAs.AddCert(x)
	}
	return cfg, nil
}

// storeAt reads the keystore that a key names; an empty one if it names none.
func storeAt(c *conf.Config, key string) (*keystore.Store, error) {
	file, ok := c.Get(key)
	if !ok || file == "" {
		return &keystore.Store{}, nil
	}
	password, err := secretOf(c, key, "password")
	if err != nil {
		return nil, err
	}
	b, err := bounded.ReadFile(file, keystore.MaxSize)
	if err == nil {
		var s *keystore.Store
		if s, err = keystore.Parse(b, password, password); err == nil {
			return s, nil
		}
	}
	return nil, conf.ErrorAt(c, key, fmt.Errorf("%s: %w", file, err))
}

// groups returns the groups of a user; none if the server doesn't know the user. A server that fails is asked again, and then the next one.
func (s *server) groups(ctx context.Context, user string) (groups []string, err error) {
	here := 0
	for range s.tries {
		conn, at, err2 := s.open(ctx)
		if err = err2; err == nil {
			if groups, err = s.find(conn, user); err == nil {
				return groups, nil
			}
		}
		s.drop(conn)
		if here++; ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) {
			s.nextUser(at)
		} else if here >= s.same {
			s.nextServer(at)
			here = 0
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// place is a server and a user.
type place struct{ url, user int }

// open returns the connection, or makes one.
func (s *server) open(ctx context.Context) (*ldap.Conn, place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{s.url, s.user}
	if s.conn != nil && !s.conn.IsClosing() {
		return s.conn, at, nil
	}
	url, who := s.urls[s.url], s.users[s.user]
	dialer := &net.Dialer{Timeout: s.connect}
	if until, ok := ctx.Deadline(); ok {
		dialer.Deadline = until
	}
	conn, err := ldap.DialURL(url, ldap.DialWithDialer(dialer), ldap.DialWithTLSConfig(s.tls))
	if err != nil {
		return nil, at, fmt.Errorf("LDAP at %s: %w", url, err)
	}
	conn.SetTimeout(s.patience(ctx))
	if who.name == "" {
		err = conn.UnauthenticatedBind("")
	} else {
		err = conn.Bind(who.name, who.password)
	}
	if err != nil {
		_ = conn.Close()
		return nil, at, fmt.Errorf("LDAP at %s as %q: %w", url, who.name, err)
	}
	s.conn = conn
	return conn, at, nil
}

// patience is how long an answer is waited for.
func (s *server) patience(ctx context.Context) time.Duration {
	if until, ok := ctx.Deadline(); ok && (s.ask <= 0 || time.Until(until) < s.ask) {
		return max(time.Until(until), time.Millisecond)
	}
	return s.ask
}

// drop closes a connection that has failed.
func (s *server) drop(conn *ldap.Conn) {
	if conn == nil {
		return
	}
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn {
		s.conn = nil
	}
}

func (s *server) nextUser(from place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user == from.user {
		s.user = (s.user + 1) % len(s.users)
	}
}

func (s *server) nextServer(from place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == from.url && len(s.urls) > 1 {
		s.url = (s.url + 1) % len(s.urls)
		s.log.WithField("from", s.urls[from.url]).WithField("to", s.urls[s.url]).Warn("groups are looked up by another server of LDAP")
	}
}

// fill puts values, without any meaning of their own, into the places {0}, {1}, … of a filter.
func fill(filter string, values ...string) string {
	for i, v := range values {
		filter = strings.ReplaceAll(filter, fmt.Sprintf("{%d}", i), ldap.EscapeFilter(v))
	}
	return filter
}

func (s *server) search(conn *ldap.Conn, base, filter string) ([]*ldap.Entry, error) {
	want := []string{s.name, s.uid, s.gid}
	if s.memberOf != "" {
		want = append(want, s.memberOf)
	}
	r, err := conn.Search(ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.DerefAlways, maxEntries, int(s.limit/time.Second), false, filter, want, nil))
	if err != nil {
		return nil, fmt.Errorf("search %s in %q: %w", filter, base, err)
	}
	return r.Entries, nil
}

// find looks a user up: first the user's entry, then the groups that have it as a member, unless the entry names them.
func (s *server) find(conn *ldap.Conn, user string) ([]string, error) {
	users, err := s.search(conn, s.userBase, fill(s.userFilter, user))
	if err != nil || len(users) == 0 {
		return nil, err
	}
	entry := users[0]
	if s.memberOf != "" && s.hierarchy <= 0 {
		if groups, ok := s.named(entry); ok {
			return groups, nil
		}
	}
	filter, err := s.membership(entry)
	if err != nil {
		return nil, err
	}
	found, err := s.search(conn, s.groupBase, filter)
	if err != nil {
		return nil, err
	}
	return s.upwards(conn, found)
}

// named returns the groups that the user's entry names; ok is false if it names none, or one by another attribute than groups' names.
func (s *server) named(entry *ldap.Entry) (groups []string, ok bool) {
	for _, text := range entry.GetEqualFoldAttributeValues(s.memberOf) {
		dn, err := ldap.ParseDN(text)
		if err != nil || len(dn.RDNs) == 0 || len(dn.RDNs[0].Attributes) == 0 || !strings.EqualFold(dn.RDNs[0].Attributes[0].Type, s.name) {
			return nil, false
		}
		groups = append(groups, dn.RDNs[0].Attributes[0].Value)
	}
	return groups, len(groups) > 0
}

// membership returns the filter of the groups that a user is a member of.
func (s *server) membership(entry *ldap.Entry) (string, error) {
	if !s.posix {
		return "(&" + s.groupFilter + fill("("+s.member+"={0})", entry.DN) + ")", nil
	}
	gid, uid := entry.GetEqualFoldAttributeValue(s.gid), entry.GetEqualFoldAttributeValue(s.uid)
	if gid == "" || uid == "" {
		return "", fmt.Errorf("%s lacks %s or %s, which groups of posixGroup need", entry.DN, s.gid, s.uid)
	}
	return "(&" + s.groupFilter + fill("(|("+s.gid+"={0})("+s.member+"={1}))", gid, uid) + ")", nil
}

// upwards returns the names of groups, and of those that they are members of, as many levels up as the configuration says.
func (s *server) upwards(conn *ldap.Conn, found []*ldap.Entry) ([]string, error) {
	var names []string
	seen := map[string]bool{}
	for level := 0; len(found) > 0; level++ {
		var next []string
		for _, e := range found {
			name := e.GetEqualFoldAttributeValue(s.name)
			if name == "" {
				return nil, fmt.Errorf("group %s has no attribute %s", e.DN, s.name)
			}
			if !seen[e.DN] {
				seen[e.DN] = true
				names, next = append(names, name), append(next, fill("("+s.member+"={0})", e.DN))
			}
		}
		if level >= s.hierarchy || s.posix || len(next) == 0 {
			break
		}
		if len(seen) > maxEntries {
			return nil, errors.New("the hierarchy of groups is too large")
		}
		var err error
		if found, err = s.search(conn, s.groupBase, "(&"+s.groupFilter+"(|"+strings.Join(next, "")+"))"); err != nil {
			return nil, err
		}
	}
	return unique(names), nil
}
