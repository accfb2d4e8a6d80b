package request

import (
	"heddle/rm/leader/refusal"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Limit refuses what would make the scheduler's work for one application too much: some asks, and some more hosts and racks on its
// blacklist. It takes as long for tens of thousands of requests as the whole cluster's decisions do in a while.
func (c *Checker) Limit(id records.ApplicationID, h scheduler.AppHandle, asks []scheduler.Ask, excluded int) error {
	if len(asks) > 0 {
		if err := c.limitAsks(id, h, asks); err != nil {
			return err
		}
	}
	if excluded > 0 && c.MaxPlaces > 0 && c.Scheduler.Excluded(h)+excluded > c.MaxPlaces {
		return refusal.New(refusal.InvalidBlacklist, "%v would exclude more than %d hosts and racks (heddle.application.max-places)", id, c.MaxPlaces)
	}
	return nil
}

func (c *Checker) limitAsks(id records.ApplicationID, h scheduler.AppHandle, asks []scheduler.Ask) error {
	mostRequests, mostPlaces := c.MaxRequests, c.MaxPlaces
	if most := mostRequests + mostPlaces; mostRequests > 0 && mostPlaces > 0 && len(asks) > most {
		return refusal.New(refusal.InvalidResource, "%v asks with %d rows at once; at most %d are taken (heddle.application.max-requests and "+
			"heddle.application.max-places, together)", id, len(asks), most)
	}
	requests, places := c.Scheduler.Requests(h)
	if mostRequests > 0 && requests+len(asks) > mostRequests || mostPlaces > 0 && places+len(asks) > mostPlaces {
		requests, places = c.Scheduler.RequestsWith(h, asks)
	}
	if mostRequests > 0 && requests > mostRequests {
		return refusal.New(refusal.InvalidResource, "%v would have %d requests that differ in priority or allocation request id; at most %d are taken "+
			"(heddle.application.max-requests). Ask for several containers with one request, or for some of them later", id, requests, mostRequests)
	}
	if mostPlaces > 0 && places > mostPlaces {
		return refusal.New(refusal.InvalidResource, "%v would ask for %d hosts and racks in its requests; at most %d are taken (heddle.application.max-places)",
			id, places, mostPlaces)
	}
	return nil
}
