package openid

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"heddle/conf"
	"heddle/conf/credential"
)

// Keys of the configuration.
const (
	prefix      = "heddle.openid."
	IssuerKey   = prefix + "issuer"
	idKey       = prefix + "client-id"
	redirectKey = prefix + "redirect-url"
)

// FromConf returns what the configuration says of a provider, but for Secrets and Now. ok is false if it names none.
func FromConf(c *conf.Config) (s Settings, ok bool, err error) {
	s = Settings{
		Issuer: c.Text(IssuerKey), ClientID: c.Text(idKey), Scopes: c.Strings(prefix + "scopes"),
		UserClaim: c.Text(prefix + "user-claim"), Audiences: c.Strings(prefix + "audiences"), Redirect: c.Text(redirectKey),
	}
	if s.Issuer == "" {
		return s, false, nil
	}
	if err := safe(s.Issuer); err != nil {
		return s, false, conf.ErrorAt(c, IssuerKey, fmt.Errorf("%s is %q, which %w", IssuerKey, s.Issuer, err))
	}
	if s.ClientID == "" {
		return s, false, conf.ErrorAt(c, idKey, fmt.Errorf("%s is set, and %s isn't: set it to the name under which the provider knows this cluster", IssuerKey, idKey))
	}
	if s.Redirect != "" {
		if err := safe(s.Redirect); err != nil {
			return s, false, conf.ErrorAt(c, redirectKey, fmt.Errorf("%s is %q, which %w", redirectKey, s.Redirect, err))
		}
		if u, err := url.Parse(s.Redirect); err != nil || u.Path != CallbackPath {
			return s, false, conf.ErrorAt(c, redirectKey, fmt.Errorf("%s is %q; its path must be %s", redirectKey, s.Redirect, CallbackPath))
		}
	}
	s.ClientSecret, _, err = credential.Password(c, prefix+"client-secret")
	return s, err == nil, err
}

// safe reports what is wrong with a URL to which secrets go.
func safe(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return errors.New("is no URL such as https://login.example.com/realm")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()):
		return nil // for tries on one machine
	}
	return errors.New("is not an https URL: secrets would pass in the clear")
}
