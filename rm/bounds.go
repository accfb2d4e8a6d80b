package rm

import (
	"heddle/conf"
	"heddle/internal/machine"
	"heddle/rm/ledger/limit"
)

// bounds says how much requests may leave behind in the ledger.
func bounds(c *conf.Config) limit.Bounds {
	b := limit.Standard(machine.UsableMemory(), int64(c.Int("heddle.applications.max-mb"))<<20, c.Int("heddle.applications.max-user-percent"))
	b.TokensOfOwner, b.Tokens = c.Int("heddle.delegation-tokens.max-per-owner"), c.Int("heddle.delegation-tokens.max")
	return b
}
