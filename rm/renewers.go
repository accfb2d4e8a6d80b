package rm

import (
	"context"
	"fmt"
	"time"

	"heddle/rm/leader/delegation"
	"heddle/yarn/token"
)

// renewers renew tokens of several issuers.
type renewers []delegation.TokenRenewer

// tokenRenewer renews tokens that NameNodes, the Key Management Server and the timeline server have issued; nil if nothing does.
func (r *ResourceManager) tokenRenewer() delegation.TokenRenewer {
	var all renewers
	if r.hdfs != nil {
		all = append(all, r.hdfs)
	}
	if r.timeline != nil {
		all = append(all, r.timeline)
	}
	if all == nil {
		return nil
	}
	return all
}

func (all renewers) of(t token.Token) delegation.TokenRenewer {
	for _, one := range all {
		if one.Renews(t) {
			return one
		}
	}
	return nil
}

// Renews implements delegation.TokenRenewer.
func (all renewers) Renews(t token.Token) bool { return all.of(t) != nil }

// RenewToken implements delegation.TokenRenewer.
func (all renewers) RenewToken(ctx context.Context, t token.Token) (time.Time, error) {
	one := all.of(t)
	if one == nil {
		return time.Time{}, fmt.Errorf("tokens of kind %q are not renewed", t.Kind)
	}
	return one.RenewToken(ctx, t)
}

// CancelToken implements delegation.TokenRenewer.
func (all renewers) CancelToken(ctx context.Context, t token.Token) error {
	one := all.of(t)
	if one == nil {
		return fmt.Errorf("tokens of kind %q are not cancelled", t.Kind)
	}
	return one.CancelToken(ctx, t)
}
