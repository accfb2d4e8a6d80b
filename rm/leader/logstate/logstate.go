// Package logstate records how far nodes are with the logs of applications. It is pure.
package logstate

import (
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Note enters what is new in reports of nodes.
func Note(work *ledger.State, reports []*pb.LogAggregationReport, enter func(*ledgerpb.Command)) {
	for _, r := range reports {
		app := work.Apps[records.ApplicationIDFrom(r.GetApplicationId())]
		status := r.GetLogAggregationStatus()
		if app == nil || app.LogAggregation == status {
			continue
		}
		enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(app.ID), LogAggregation: proto.Int32(int32(status)),
		}})
	}
}
