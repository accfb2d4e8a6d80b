package rest

import (
	"net/http"

	yarnrest "heddle/yarn/rest"
)

// routeReservations answers like a reservation system that is off.
func (s *server) routeReservations(api *yarnrest.API) {
	base := clusterBase + "/reservation/"
	off := func(*yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.Reply{}, yarnrest.BadRequest("Reservation is not enabled. Please enable & try again")
	}
	api.Handle(base+"new-reservation", yarnrest.Methods{http.MethodPost: {Handle: off}})
	api.Handle(base+"list", yarnrest.Methods{http.MethodGet: {Handle: off}})
	for _, what := range []string{"submit", "update", "delete"} {
		api.Handle(base+what, yarnrest.Methods{http.MethodPost: {Handle: off, Takes: yarnrest.TakesDocument}})
	}
}
