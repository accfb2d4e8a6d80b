package reservations

import (
	"net/http/httptest"
	"strings"
	"testing"

	yarnrest "heddle/yarn/rest"
)

// As a stock 3.4.2 answered.
func TestAnswersWithoutReservations(t *testing.T) {
	api := yarnrest.NewAPI(nil)
	Route(api, "/ws/v1/cluster")
	const (
		disabled = "java.lang.Exception: Reservation is not enabled. Please enable & try again"
		whole    = `"reservation-definition":{"arrival":1,"deadline":2,"reservation-name":"r","reservation-requests":{"reservation-request-interpreter":0}}}`
		absent   = "java.lang.Exception: Input ReservationDefinition should not be null"
	)
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "new-reservation", "", 503, "Unable to create new reservation from RM web service"},
		{"GET", "list", "", 400, disabled},
		{"GET", "list?queue=nosuch&reservation-id=xx&start-time=-5", "", 400, disabled},
		{"GET", "list?queue=a&start-time=-5&end-time=x", "", 503, `java.lang.NumberFormatException: For input string: \"x\"`},
		{"POST", "submit", `{"queue":"a"}`, 400, absent},
		{"POST", "submit", `{"queue":"a","reservation-id":"reservation_1_1"}`, 400, absent},
		{"POST", "submit", `{"queue":"a","reservation-id":"xx",` + whole, 404, "The specified reservation id is invalid: xx"},
		{"POST", "submit", `{"queue":"a","reservation-id":"reservation_1448000000000_0001",` + whole, 400, disabled},
		{"POST", "update", `{"reservation-id":"reservation_1448000000000_0001"}`, 400, absent},
		{"POST", "delete", `{"reservation-id":"xx"}`, 404, "The specified reservation id is invalid: xx"},
		{"POST", "delete", `{}`, 400, disabled},
	} {
		r := httptest.NewRequest(test.method, "/ws/v1/cluster/reservation/"+test.path, strings.NewReader(test.body))
		if test.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\u0026`, "&"), `"message":"`+test.want+`"`) {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, w.Code, w.Body)
		}
	}
}
