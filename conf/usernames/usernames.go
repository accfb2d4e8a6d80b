// Package usernames reads how the names of users become short from a configuration.
package usernames

import (
	"fmt"

	"heddle/conf"
	"heddle/yarn/principal"
)

const (
	rulesKey     = "hadoop.security.auth_to_local"
	mechanismKey = "hadoop.security.auth_to_local.mechanism"
)

// Of returns the rules of a configuration without Kerberos. As in Hadoop the first part of a name counts, such as john of john@CORP.COM, unless
// hadoop.security.auth_to_local says otherwise.
func Of(c *conf.Config) (*principal.Rules, error) {
	text := c.Text(rulesKey)
	if text == "" {
		text = principal.Simple
	}
	rules, err := principal.Parse(text, principal.Mechanism(c.Text(mechanismKey)), "")
	if err != nil {
		return nil, conf.ErrorAt(c, rulesKey, fmt.Errorf("%s: %w", rulesKey, err))
	}
	return rules, nil
}
