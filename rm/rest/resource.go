package rest

import (
	"heddle/rm/rest/amount"
	"heddle/yarn/records"
)

type (
	resourceInfo = amount.Resource
	amounts      = amount.Map
)

func (s *server) resource(r records.Resource) resourceInfo { return amount.Of(s.Types, r) }
func (s *server) amounts(r records.Resource) amounts       { return amount.MapOf(s.Types, r) }
