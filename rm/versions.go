package rm

import (
	"context"
	"fmt"
	"slices"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// LedgerVersion returns the newest version of the ledger that this member can apply.
func (r *ResourceManager) LedgerVersion() int32 { return r.newest }

// versions asks all members which version of the ledger they can apply, and returns the lowest answer. It asks members that
// are configured or on record. Each must answer, because one that is down may come back with its old release.
func (r *ResourceManager) versions(ctx context.Context) (int32, error) {
	members, err := r.raft.Members()
	if err != nil {
		return 0, err
	}
	ids := slices.Clone(r.conf.RMIDs())
	for _, m := range members {
		if !m.Witness() && !slices.Contains(ids, m.ID) { // a witness applies nothing
			ids = append(ids, m.ID)
		}
	}
	all := r.newest
	for _, id := range ids {
		if id == r.id {
			continue
		}
		v, err := r.versionOf(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("ask %s for its version of the ledger: %w", id, err)
		}
		all = min(all, v)
	}
	return all, nil
}

// versionOf asks another member. Releases before version 2 don't answer this; they count as 1.
func (r *ResourceManager) versionOf(ctx context.Context, id string) (int32, error) {
	a, err := r.conf.RMAddress(AdminAddress, id)
	if err != nil {
		return 0, err
	}
	ha := r.launcher.Client.Endpoint(r.conf.Connectable(a).String(), protocol.HAService, r.own.identity())
	resp, err := protocol.GetServiceStatus.Call(ctx, ha, &pb.GetServiceStatusRequest{})
	if err != nil {
		return 0, err
	}
	if !resp.HasHeddleLedgerVersion() {
		return 1, nil
	}
	return min(resp.GetHeddleLedgerVersion(), ledger.Version), nil
}
