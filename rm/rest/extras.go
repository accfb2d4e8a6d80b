package rest

import (
	"net/http"

	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// routeReservations answers for a reservation system that is off.
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

type delegationToken struct {
	Token   string `yarn:"token"`
	Renewer string `yarn:"renewer"`
}

// routeTokens answers requests for delegation tokens, which take Kerberos.
func (s *server) routeTokens(api *yarnrest.API) {
	refuse := func(c *yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.Say(http.StatusForbidden, "Delegation token operations can only be carried out on a Kerberos authenticated "+
			"channel. Expected auth type is kerberos, got type %s", auth.From(c.Context()).Method), nil
	}
	withBody := func(c *yarnrest.Call) (yarnrest.Reply, error) {
		if err := c.Decode(yarnrest.Target{Root: "delegation-token", Value: &delegationToken{}}); err != nil {
			return yarnrest.Reply{}, err
		}
		return refuse(c)
	}
	base := clusterBase + "/delegation-token"
	api.Handle(base, yarnrest.Methods{
		http.MethodPost:   {Handle: withBody, Takes: yarnrest.TakesDocument},
		http.MethodDelete: {Handle: refuse},
	})
	api.Handle(base+"/expiration", yarnrest.Methods{http.MethodPost: {Handle: refuse}})
}
