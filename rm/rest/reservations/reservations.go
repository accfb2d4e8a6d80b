// Package reservations answers the paths of reservations below /ws/v1/cluster.
package reservations

import (
	"net/http"

	yarnrest "heddle/yarn/rest"
)

// Route adds the paths below a base, which answer like a reservation system that is off.
func Route(api *yarnrest.API, base string) {
	base += "/reservation/"
	off := func(*yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.Reply{}, yarnrest.BadRequest("Reservation is not enabled. Please enable & try again")
	}
	api.Handle(base+"new-reservation", yarnrest.Methods{http.MethodPost: {Handle: off}})
	api.Handle(base+"list", yarnrest.Methods{http.MethodGet: {Handle: off}})
	for _, what := range []string{"submit", "update", "delete"} {
		api.Handle(base+what, yarnrest.Methods{http.MethodPost: {Handle: off, Takes: yarnrest.TakesDocument}})
	}
}
