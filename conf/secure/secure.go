// Package secure reads what a configuration says of Kerberos: the daemons' accounts, and whom clients expect to answer.
package secure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"

	"heddle/conf"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/krb5conf"
	"heddle/yarn/kerberos/login"
)

// Keys of Kerberos.
const (
	Authentication = "hadoop.security.authentication"
	ManagerAccount = "yarn.resourcemanager.principal"
	ManagerKeytab  = "yarn.resourcemanager.keytab"
	NodeAccount    = "yarn.nodemanager.principal"
	NodeKeytab     = "yarn.nodemanager.keytab"

	managerAddress = "yarn.resourcemanager.address"
)

// On reports whether callers prove by Kerberos, or by a token, who they are.
func On(c *conf.Config) bool {
	value, _ := c.Get(Authentication)
	return strings.EqualFold(strings.TrimSpace(value), "kerberos")
}

// Krb5 reads krb5.conf: the files that $KRB5_CONFIG names, or /etc/krb5.conf. A default realm must be in it.
func Krb5(c *conf.Config) (*krb5conf.Config, error) {
	paths := krb5conf.Paths(os.Getenv("KRB5_CONFIG"))
	k, err := krb5conf.Load(paths...)
	if err != nil {
		return nil, conf.ErrorAt(c, Authentication, &conf.StartedBy{Err: fmt.Errorf("%s is kerberos, and %w: install the realm's krb5.conf, or name another by $KRB5_CONFIG", Authentication, err)})
	}
	if k.LibDefaults.DefaultRealm == "" {
		return nil, conf.ErrorAt(c, Authentication, &conf.StartedBy{Err: fmt.Errorf("%s is kerberos, and %s has no default_realm: set it in [libdefaults]", Authentication, strings.Join(paths, ":"))})
	}
	return k, nil
}

// Account is whom a daemon logs in as.
type Account struct {
	Principal string // the full name
	Keytab    *kerberos.Keytab
	Krb5      *krb5conf.Config
}

// Acceptor lets those in who have a ticket for the daemon.
func (a *Account) Acceptor() *kerberos.Acceptor {
	return &kerberos.Acceptor{Principal: a.Principal, Keytab: a.Keytab, Replays: kerberos.NewReplays(), OwnKey: true, Skew: a.Krb5.LibDefaults.Clockskew}
}

// Login logs in at the KDC.
func (a *Account) Login() (*login.Login, error) {
	l, err := login.FromKeytab(a.Krb5, a.Keytab, a.Principal)
	if err != nil {
		return nil, a.hint(err)
	}
	return l, nil
}

// hint says of an error at the KDC what must hold there.
func (a *Account) hint(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (the KDC of krb5.conf must be up and know the account; its clock and this one's may differ by %v)", err, a.Krb5.LibDefaults.Clockskew)
}

// Late returns tickets of the account, which logs in when the first one is needed. So a KDC that is away keeps no daemon from starting.
func (a *Account) Late() *Late {
	return &Late{account: a, login: sync.OnceValues(func() (*login.Login, error) { return login.Later(a.Krb5, a.Keytab, a.Principal) })}
}

// Late is a login that begins when it is needed. It is safe for concurrent use.
type Late struct {
	account *Account
	login   func() (*login.Login, error)
}

// Principal returns the account's full name.
func (l *Late) Principal() string { return l.account.Principal }

// Ticket implements ipc.Tickets.
func (l *Late) Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error) {
	in, err := l.login()
	if err != nil {
		return kerberos.Ticket{}, err
	}
	t, err := in.Ticket(ctx, service, host)
	return t, l.account.hint(err)
}

// ResourceManager returns the account of the ResourceManager with an id. _HOST in it is the host of the address at which clients find it.
func ResourceManager(c *conf.Config, id string) (*Account, error) {
	at, err := c.RMAddress(managerAddress, id)
	if err != nil {
		return nil, err
	}
	return account(c, ManagerAccount, ManagerKeytab, func() string { return machine.named(at) })
}

// Renewer is who renews the tokens of applications: the ResourceManager's full name, as the first of them has it. All have the same short name, by
// which NameNodes and ResourceManagers know renewers; with _HOST in it, rules that name hosts wouldn't make it short.
func Renewer(c *conf.Config) string {
	name := c.Text(ManagerAccount)
	at, err := c.RMAddresses(managerAddress)
	if err != nil {
		return name
	}
	return strings.Replace(name, "/_HOST@", "/"+machine.named(at[0])+"@", 1)
}

// NodeManager returns the account of this machine's NodeManager. _HOST in it is the machine's name, wherever the NodeManager listens.
func NodeManager(c *conf.Config) (*Account, error) {
	return account(c, NodeAccount, NodeKeytab, machine.own)
}

// account reads principal and keytab. Its errors name the key that is wrong, and how to mend it.
func account(c *conf.Config, principalKey, keytabKey string, host func() string) (*Account, error) {
	k, err := Krb5(c)
	if err != nil {
		return nil, err
	}
	name, err := fullName(c, principalKey, host)
	if err != nil {
		return nil, conf.ErrorAt(c, principalKey, err)
	}
	path := c.Text(keytabKey)
	remedy := fmt.Sprintf("have the KDC's administrator write its keys there (kadmin: ktadd -k %s %s), for %s alone to read", path, name, whoami())
	keytab, err := kerberos.OpenKeytab(path)
	if err == nil {
		err = holds(keytab, name)
	}
	if err != nil {
		return nil, conf.ErrorAt(c, keytabKey, &conf.StartedBy{Err: fmt.Errorf("%s: the account %s (%s): %w; %s", keytabKey, name, principalKey, err, remedy)})
	}
	return &Account{name, keytab, k}, nil
}

func fullName(c *conf.Config, key string, host func() string) (string, error) {
	pattern := c.Text(key)
	if pattern == "" {
		return "", fmt.Errorf("%s: is not set, and %s is kerberos: set it to the daemon's account, such as %s/_HOST@REALM", key, Authentication, map[string]string{ManagerAccount: "rm", NodeAccount: "nm"}[key])
	}
	name := pattern
	if strings.Contains(pattern, "/_HOST@") {
		name = strings.Replace(pattern, "/_HOST@", "/"+host()+"@", 1)
	}
	rest, realm, _ := strings.Cut(name, "@")
	service, of, _ := strings.Cut(rest, "/")
	if service == "" || of == "" || realm == "" || strings.ContainsAny(of+realm, "/@") {
		return "", fmt.Errorf("%s: %s must have the form SERVICE/HOST@REALM, such as rm/_HOST@REALM: clients expect a host in it", key, pattern)
	}
	return name, nil
}

// aes are the numbers of the ciphers that we take.
var aes = []int32{17, 18, 19, 20}

// holds returns an error unless a keytab has a key of an account.
func holds(k *kerberos.Keytab, name string) error {
	var others []string
	found := false
	for _, e := range k.Keys().Entries {
		of := strings.Join(e.Principal.Components, "/") + "@" + e.Principal.Realm
		switch {
		case of == name && slices.Contains(aes, e.Key.KeyType):
			return nil
		case of == name:
			found = true
		case !slices.Contains(others, of):
			others = append(others, of)
		}
	}
	if found {
		return errors.New("the keytab has no AES key of it; others aren't taken, and aes256-cts is usual")
	}
	if len(others) == 0 {
		return errors.New("the keytab is empty")
	}
	return fmt.Errorf("the keytab has no key of it, but of %s", conf.Shorten(strings.Join(others, ", ")))
}

func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "its user"
}

// Cache returns the login of the user who ran kinit: of $KRB5CCNAME, or else of the usual file, as with Java.
func Cache(c *conf.Config) (*login.Login, error) {
	k, err := Krb5(c)
	if err != nil {
		return nil, err
	}
	path := os.Getenv("KRB5CCNAME")
	if path == "" {
		path = fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())
	}
	l, err := login.FromCache(k, path)
	if err != nil {
		at := "by default"
		if s, ok := c.Where(Authentication); ok {
			at = "set in " + s.String()
		}
		return nil, fmt.Errorf("%w (%s is kerberos, %s)", err, Authentication, at)
	}
	return l, nil
}
