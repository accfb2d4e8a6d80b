// Package usernames reads how the names of users become short from a configuration.
package usernames

import (
	"fmt"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/yarn/principal"
)

const (
	rulesKey     = "hadoop.security.auth_to_local"
	mechanismKey = "hadoop.security.auth_to_local.mechanism"
)

// Of returns the rules of a configuration. As in Hadoop the names of the default realm alone become short with Kerberos, by their first part, and without it those
// of all realms, unless hadoop.security.auth_to_local says otherwise.
func Of(c *conf.Config) (*principal.Rules, error) {
	text, usual, realm := c.Text(rulesKey), principal.Simple, ""
	if secure.On(c) {
		k, err := secure.Krb5(c)
		if err != nil {
			return nil, err
		}
		usual, realm = "DEFAULT", k.LibDefaults.DefaultRealm
	}
	if text == "" {
		text = usual
	}
	rules, err := principal.Parse(text, principal.Mechanism(c.Text(mechanismKey)), realm)
	if err != nil {
		return nil, conf.ErrorAt(c, rulesKey, fmt.Errorf("%s: %w", rulesKey, err))
	}
	return rules, nil
}
