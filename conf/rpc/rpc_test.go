package rpc

import (
	"slices"
	"strings"
	"testing"

	"heddle/conf/conftest"
	"heddle/yarn/sasl"
)

func TestProtection(t *testing.T) {
	for value, want := range map[string]sasl.Qualities{
		"":                         {sasl.Authentication},
		"privacy":                  {sasl.Privacy},
		"Privacy, authentication":  {sasl.Privacy, sasl.Authentication},
		"integrity,privacy":        {sasl.Integrity, sasl.Privacy},
		"integrity privacy":        nil,
		"authentication,encrypted": nil,
	} {
		keys := map[string]string{}
		if value != "" {
			keys[protection] = value
		}
		c := conftest.With(t, keys)
		got, err := Protection(c)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: got %v, %v, want %v", value, got, err, want)
		}
		if r := c.Validate(); r.OK() != (want != nil) { // heddle conf check says the same
			t.Errorf("%q: the check says %v", value, r.Err())
		}
		if err != nil && !strings.Contains(err.Error(), protection) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
