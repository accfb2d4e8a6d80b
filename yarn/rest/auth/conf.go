package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/conf/usernames"
	"heddle/yarn/kerberos"
)

const (
	initializers      = "hadoop.http.filter.initializers"
	initializer       = "org.apache.hadoop.security.AuthenticationFilterInitializer"
	proxyInitializer  = "org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer"
	staticInitializer = "org.apache.hadoop.http.lib.StaticUserWebFilter"
	prefix            = "hadoop.http.authentication."
	kerberosPrefix    = prefix + "kerberos."
	whitelist         = kerberosPrefix + "endpoint.whitelist"
	tokenFilter       = "yarn.resourcemanager.webapp.delegation-token-auth-filter.enabled"
)

// Configured reports whether the configuration selects Hadoop's own authentication filter instead of YARN's.
func Configured(c *conf.Config) bool {
	return slices.Contains(c.Strings(initializers), initializer) || byKerberos(c)
}

// byKerberos reports whether the configuration asks for tickets on web ports.
func byKerberos(c *conf.Config) bool {
	set := c.Strings(initializers)
	return c.Text(prefix+"type") == "kerberos" && (slices.Contains(set, initializer) || slices.Contains(set, proxyInitializer))
}

// Daemon is whose web port a Filter is for.
type Daemon struct {
	Role string        // resourcemanager or nodemanager
	Host string        // what _HOST in its principal stands for; "" if that isn't known yet, so that tickets can't be checked
	Log  *logrus.Entry // learns why tickets are refused; nil: nothing does
}

// FromConf returns the filter that the configuration describes. It sets Secrets if there is a secret file. The caller
// sets Secrets otherwise, and always MayActFor.
func FromConf(c *conf.Config, d Daemon) (*Filter, error) {
	f := &Filter{
		Anonymous: c.Bool(prefix + "simple.anonymous.allowed"),
		Validity:  c.Duration(prefix + "token.validity"),
		Now:       time.Now,
	}
	names, err := usernames.Of(c)
	if err != nil {
		return nil, err
	}
	f.Short = names.Short
	if f.Validity == 0 {
		f.Validity = validity
	}
	f.CookiePath, _ = c.Get(prefix + "cookie.path")
	f.CookieDomain, _ = c.Get(prefix + "cookie.domain")
	if f.SignIn, err = f.signInFrom(c, d); err != nil {
		return nil, err
	}
	if f.Open, err = openPaths(c); err != nil {
		return nil, err
	}
	switch kind := c.Text(prefix + "type"); {
	case byKerberos(c):
		if f.Tickets, err = ticketsFrom(c, d); err != nil {
			return nil, err
		}
		f.Delegation = d.Role == "resourcemanager" && secure.On(c) && c.Bool(tokenFilter)
	case Configured(c) && kind != "simple":
		return nil, conf.ErrorAt(c, prefix+"type", fmt.Errorf("%stype is %q, and Heddle has simple and kerberos: set one of them", prefix, kind))
	case secure.On(c) && !Configured(c):
		f.Nobody = f.SignIn == nil // Hadoop's daemons have no filter then
	default:
		f.Delegation = d.Role == "resourcemanager" && !Configured(c)
	}
	if slices.Contains(c.Strings(initializers), staticInitializer) && !secure.On(c) {
		f.Static = c.Text("hadoop.http.staticuser.user")
	}
	f.Secrets, err = fileSecret(c)
	return f, err
}

// fileSecret returns the secret of cookies that a file has; nil if there is no such file, and none is asked for.
func fileSecret(c *conf.Config) (func() [][]byte, error) {
	const key = prefix + "signature.secret.file"
	file := c.Text(key)
	secret, err := os.ReadFile(file)
	switch {
	case err == nil && len(secret) > 0:
		return func() [][]byte { return [][]byte{secret} }, nil
	case c.IsSet(key) && Configured(c):
		if err == nil {
			err = fmt.Errorf("%s is empty", file)
		}
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return nil, nil
}

// ticketsFrom returns what checks tickets. The keys of the daemon's own web port take precedence, as in Hadoop.
func ticketsFrom(c *conf.Config, d Daemon) (*Tickets, error) {
	principalKey, keytabKey := kerberosPrefix+"principal", kerberosPrefix+"keytab"
	if own := "yarn." + d.Role + ".webapp.spnego-"; c.IsSet(own+"principal") && c.IsSet(own+"keytab-file") {
		principalKey, keytabKey = own+"principal", own+"keytab-file"
	}
	principal, file := c.Text(principalKey), c.Text(keytabKey)
	switch {
	case principal == "":
		return nil, conf.ErrorAt(c, principalKey, fmt.Errorf("%stype is kerberos, and %s isn't set: set it to the name of the web service, such as HTTP/_HOST@REALM", prefix, principalKey))
	case principal != "*" && !strings.HasPrefix(principal, "HTTP/"):
		return nil, conf.ErrorAt(c, principalKey, fmt.Errorf("%s is %q; clients ask for tickets for HTTP/HOST: set it to HTTP/_HOST@REALM, or to * for all such keys of the keytab", principalKey, principal))
	case file == "":
		return nil, conf.ErrorAt(c, keytabKey, fmt.Errorf("%stype is kerberos, and %s isn't set: set it to the file with the keys of %s", prefix, keytabKey, principal))
	}
	keys, err := kerberos.OpenKeytab(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", keytabKey, err)
		if errors.Is(err, fs.ErrPermission) {
			err = &conf.StartedBy{Err: err}
		}
		return nil, conf.ErrorAt(c, keytabKey, err)
	}
	principal = strings.Replace(principal, "/_HOST", "/"+strings.ToLower(d.Host), 1)
	takes := func(service string) bool {
		name, realm, _ := strings.Cut(service, "@")
		want, wantRealm, named := strings.Cut(principal, "@")
		return strings.HasPrefix(name, "HTTP/") && (principal == "*" || name == want && (!named || realm == wantRealm))
	}
	if !slices.ContainsFunc(keys.Principals(), takes) {
		return nil, conf.ErrorAt(c, principalKey, fmt.Errorf("the keytab %s (%s) has no key of %s (%s); it has those of %s", file, keytabKey, principal, principalKey, strings.Join(keys.Principals(), ", ")))
	}
	return &Tickets{
		Acceptor: &kerberos.Acceptor{Takes: takes, Keytab: keys, Replays: kerberos.NewReplays()},
		Log:      d.Log,
	}, nil
}

// openPaths are the paths that need no proof.
func openPaths(c *conf.Config) (map[string]bool, error) {
	open := map[string]bool{"/isActive": true} // by which the filters of ApplicationMasters find the leader; they have no ticket
	for _, path := range conf.ParseList(c.Text(whitelist)) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "*;") {
			return nil, conf.ErrorAt(c, whitelist, fmt.Errorf("%s has %q; it takes whole paths that begin with /, without *", whitelist, path))
		}
		open[path] = true
	}
	return open, nil
}

// RandomSecret returns a new secret, for a process that shares its cookies with no other.
func RandomSecret() func() [][]byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return func() [][]byte { return [][]byte{secret} }
}
