package service

import (
	"context"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// serveExtras answers what a cluster without profiles and reservations says to questions about
// them: that there are none, or that the feature is off, in Hadoop's words.
func (s *Service) serveExtras(server *ipc.Server) {
	protocol.GetResourceTypeInfo.Serve(server, s.resourceTypeInfo)

	profiles := ipc.NewException(ipc.FeatureNotEnabled,
		"Resource profile is not enabled, please enable resource profile feature before using its functions. "+
			"(by setting yarn.resourcemanager.resource-profiles.enabled to true)")
	protocol.GetResourceProfiles.Serve(server, off[pb.GetAllResourceProfilesRequest, pb.GetAllResourceProfilesResponse](profiles))
	protocol.GetResourceProfile.Serve(server, off[pb.GetResourceProfileRequest, pb.GetResourceProfileResponse](profiles))

	reservations := ipc.NewException(ipc.YarnException, "Reservation is not enabled. Please enable & try again")
	protocol.GetNewReservation.Serve(server, off[pb.GetNewReservationRequest, pb.GetNewReservationResponse](reservations))
	protocol.SubmitReservation.Serve(server,
		off[pb.ReservationSubmissionRequest, pb.ReservationSubmissionResponse](reservations))
	protocol.UpdateReservation.Serve(server, off[pb.ReservationUpdateRequest, pb.ReservationUpdateResponse](reservations))
	protocol.DeleteReservation.Serve(server, off[pb.ReservationDeleteRequest, pb.ReservationDeleteResponse](reservations))
	protocol.ListReservations.Serve(server, off[pb.ReservationListRequest, pb.ReservationListResponse](reservations))
}

// empty answers with an empty message.
func empty[Req, Resp any](context.Context, *Req) (*Resp, error) { return new(Resp), nil }

// off answers that a feature is off.
func off[Req, Resp any](e *ipc.Exception) func(context.Context, *Req) (*Resp, error) {
	return func(context.Context, *Req) (*Resp, error) { return nil, e }
}

func (s *Service) resourceTypeInfo(
	context.Context, *pb.GetAllResourceTypeInfoRequest,
) (*pb.GetAllResourceTypeInfoResponse, error) {
	resp := &pb.GetAllResourceTypeInfoResponse{}
	resp.SetResourceTypeInfo(s.resourceTypes())
	return resp, nil
}
