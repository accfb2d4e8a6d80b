package policy

import (
	"context"
	"errors"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// reservations records what the calls about reservations answer, of which clusters without the reservation system have none.
func (p *play) reservations(ctx context.Context, act *Act) error {
	id := &pb.ReservationId{}
	id.SetClusterTimestamp(1)
	id.SetId(1)
	priority := &pb.ReservationRequest{}
	priority.SetNumContainers(1)
	requests := &pb.ReservationRequests{}
	requests.SetReservationResources([]*pb.ReservationRequest{priority})
	definition := &pb.ReservationDefinition{}
	definition.SetReservationRequests(requests)
	definition.SetArrival(1)
	definition.SetDeadline(2)
	submission, update := &pb.ReservationSubmissionRequest{}, &pb.ReservationUpdateRequest{}
	deletion, list := &pb.ReservationDeleteRequest{}, &pb.ReservationListRequest{}
	submission.SetQueue("a")
	submission.SetReservationId(id)
	submission.SetReservationDefinition(definition)
	update.SetReservationId(id)
	update.SetReservationDefinition(definition)
	deletion.SetReservationId(id)
	list.SetQueue("a")
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"new", func() error {
			_, err := protocol.GetNewReservation.Call(ctx, p.who, &pb.GetNewReservationRequest{})
			return err
		}},
		{"submit", func() error { _, err := protocol.SubmitReservation.Call(ctx, p.who, submission); return err }},
		{"update", func() error { _, err := protocol.UpdateReservation.Call(ctx, p.who, update); return err }},
		{"delete", func() error { _, err := protocol.DeleteReservation.Call(ctx, p.who, deletion); return err }},
		{"list", func() error { _, err := protocol.ListReservations.Call(ctx, p.who, list); return err }},
		{"empty submit", func() error {
			_, err := protocol.SubmitReservation.Call(ctx, p.who, &pb.ReservationSubmissionRequest{})
			return err
		}},
		{"empty list", func() error {
			_, err := protocol.ListReservations.Call(ctx, p.who, &pb.ReservationListRequest{})
			return err
		}},
	} {
		err := c.call()
		var refused *ipc.RemoteError
		switch {
		case errors.As(err, &refused):
			act.Queues = append(act.Queues, "reservation "+c.name+": "+refused.Class+": "+refused.Message())
		case err != nil:
			return err
		default:
			act.Queues = append(act.Queues, "reservation "+c.name+": done")
		}
	}
	return nil
}
