// Package rpc reads what a configuration says of the security of RPC.
package rpc

import (
	"fmt"
	"strings"

	"heddle/conf"
	"heddle/yarn/sasl"
)

// protection lists the qualities of protection of RPC, the preferred one first.
const protection = "hadoop.rpc.protection"

// Protection returns the qualities of protection that servers offer and clients accept. They hold for connections that prove who speaks. As in
// Hadoop, nothing protects the others.
func Protection(c *conf.Config) (sasl.Qualities, error) {
	value, _ := c.Get(protection) // Text would return the default for a wrong value, which protects less
	if strings.TrimSpace(value) == "" {
		return sasl.Qualities{sasl.Authentication}, nil
	}
	q, err := sasl.ParseQualities(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", protection, err)
	}
	return q, nil
}
