package auth

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"time"

	"heddle/conf"
)

const (
	initializer       = "org.apache.hadoop.security.AuthenticationFilterInitializer"
	staticInitializer = "org.apache.hadoop.http.lib.StaticUserWebFilter"
	prefix            = "hadoop.http.authentication."
)

// Configured reports whether the configuration asks for Hadoop's own authentication filter, rather than leaving it to YARN.
func Configured(c *conf.Config) bool {
	return slices.Contains(c.Strings("hadoop.http.filter.initializers"), initializer)
}

// FromConf makes the filter that the configuration asks for. Its Secrets is set if there is a file of the secret; it is up to
// the caller otherwise, as are MayActFor and Delegation.
func FromConf(c *conf.Config) (*Filter, error) {
	f := &Filter{
		Anonymous: c.Bool(prefix + "simple.anonymous.allowed"),
		Validity:  c.Duration(prefix + "token.validity"),
		Now:       time.Now,
	}
	if f.Validity == 0 {
		f.Validity = validity
	}
	f.CookiePath, _ = c.Get(prefix + "cookie.path")
	f.CookieDomain, _ = c.Get(prefix + "cookie.domain")
	if kind := c.Text(prefix + "type"); Configured(c) && kind != "simple" {
		return nil, fmt.Errorf("%stype is %q, and only simple can be had", prefix, kind)
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

// RandomSecret is for a process whose cookies no other one needs to know.
func RandomSecret() func() [][]byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return func() [][]byte { return [][]byte{secret} }
}
