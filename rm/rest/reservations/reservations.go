// Package reservations answers the paths of reservations below /ws/v1/cluster.
package reservations

import (
	"net/http"
	"regexp"
	"strconv"

	yarnrest "heddle/yarn/rest"
)

// body holds the members of a request that Hadoop checks before it asks whether there are reservations.
type body struct {
	ID         *string     `yarn:"reservation-id"`
	Definition *definition `yarn:"reservation-definition"`
}

type definition struct {
	Name string `yarn:"reservation-name"`
}

// Route adds the paths below a base, which answer like a stock 3.4.2 whose reservation system is off.
func Route(api *yarnrest.API, base string) {
	base += "/reservation/"
	api.Handle(base+"new-reservation", yarnrest.Methods{http.MethodPost: {Handle: func(*yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.Reply{}, &yarnrest.Error{
			Status: http.StatusServiceUnavailable, Class: yarnrest.YarnRuntimeException, Message: "Unable to create new reservation from RM web service",
		}
	}}})
	api.Handle(base+"list", yarnrest.Methods{http.MethodGet: {Handle: list}})
	for path, root := range map[string]string{
		"submit": "reservation-submission-context", "update": "reservation-update-context", "delete": "reservation-delete-context",
	} {
		api.Handle(base+path, yarnrest.Methods{http.MethodPost: {Takes: yarnrest.TakesDocument, Handle: func(c *yarnrest.Call) (yarnrest.Reply, error) {
			var b body
			if err := c.Decode(yarnrest.Target{Root: root, Value: &b}); err != nil {
				return yarnrest.Reply{}, err
			}
			return yarnrest.Reply{}, refuse(b, path != "delete")
		}}})
	}
}

func list(c *yarnrest.Call) (yarnrest.Reply, error) {
	for _, name := range []string{"start-time", "end-time"} {
		if text := c.Query().Get(name); text != "" {
			if _, err := strconv.ParseInt(text, 10, 64); err != nil {
				return yarnrest.Reply{}, &yarnrest.Error{
					Status: http.StatusServiceUnavailable, Class: "com.sun.jersey.api.ParamException$QueryParamException",
					Message: yarnrest.NumberFormatException + ": For input string: " + strconv.Quote(text),
				}
			}
		}
	}
	return yarnrest.Reply{}, off()
}

func off() error { return yarnrest.BadRequest("Reservation is not enabled. Please enable & try again") }

// validID matches the ids that Hadoop's ReservationId reads.
var validID = regexp.MustCompile(`^reservation_\d+_\d+$`)

func refuse(b body, defined bool) error {
	switch {
	case defined && b.Definition == nil:
		return yarnrest.BadRequest("Input ReservationDefinition should not be null")
	case b.ID != nil && !validID.MatchString(*b.ID):
		return &yarnrest.Error{Status: http.StatusNotFound, Class: yarnrest.IOException, Message: "The specified reservation id is invalid: " + *b.ID}
	}
	return off()
}
