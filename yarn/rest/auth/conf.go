package auth

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"time"

	"heddle/conf"
	"heddle/conf/usernames"
)

const (
	initializer       = "org.apache.hadoop.security.AuthenticationFilterInitializer"
	staticInitializer = "org.apache.hadoop.http.lib.StaticUserWebFilter"
	prefix            = "hadoop.http.authentication."
)

// Configured reports whether the configuration selects Hadoop's own authentication filter instead of YARN's.
func Configured(c *conf.Config) bool {
	return slices.Contains(c.Strings("hadoop.http.filter.initializers"), initializer)
}

// FromConf returns the filter that the configuration describes. It sets Secrets if there is a secret file. The caller
// sets Secrets otherwise, and always MayActFor and Delegation.
func FromConf(c *conf.Config) (*Filter, error) {
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
	if kind := c.Text(prefix + "type"); Configured(c) && kind != "simple" {
		return nil, fmt.Errorf("%stype is %q, only simple is supported", prefix, kind)
	}
	if slices.Contains(c.Strings("hadoop.http.filter.initializers"), staticInitializer) {
		f.Static = c.Text("hadoop.http.staticuser.user")
	}
	file := c.Text(prefix + "signature.secret.file")
	secret, err := os.ReadFile(file)
	switch {
	case err == nil && len(secret) > 0:
		f.Secrets = func() [][]byte { return [][]byte{secret} }
	case c.IsSet(prefix+"signature.secret.file") && Configured(c):
		if err == nil {
			err = fmt.Errorf("%s is empty", file)
		}
		return nil, fmt.Errorf("%ssignature.secret.file: %w", prefix, err)
	}
	return f, nil
}

// RandomSecret returns a new secret, for a process that shares its cookies with no other.
func RandomSecret() func() [][]byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return func() [][]byte { return [][]byte{secret} }
}
