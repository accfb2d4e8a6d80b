package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"heddle/conf"
)

// MaxJSON limits a description of rules, in bytes, and maxRules their number: each submission passes all of them.
const (
	MaxJSON  = 1 << 20
	maxRules = 10_000
)

// description is a rule in JSON (Hadoop: MappingRules.json, the schema of YARN's CapacityScheduler). Other members have no effect, as in YARN.
type description struct {
	Type            *string `json:"type"`
	Matches         *string `json:"matches"`
	Policy          *string `json:"policy"`
	ParentQueue     *string `json:"parentQueue"`
	FallbackResult  *string `json:"fallbackResult"`
	Create          *bool   `json:"create"`
	Value           *string `json:"value"`
	CustomPlacement *string `json:"customPlacement"`
}

// targets are the paths to which policies lead, below the parent that a rule may name.
var targets = map[string]string{
	"user": "%user", "primaryGroup": "%primary_group", "primaryGroupUser": "%primary_group.%user", "secondaryGroup": "%secondary_group",
	"secondaryGroupUser": "%secondary_group.%user", "applicationName": "%application",
}

// policies are all policies, for messages.
const policies = "specified, reject, defaultQueue, user, applicationName, primaryGroup, primaryGroupUser, secondaryGroup, secondaryGroupUser, setDefaultQueue and custom"

// Parse reads rules in JSON: {"rules": [{"type": "user", "matches": "*", "policy": "user", "parentQueue": "root.users"}, …]}. The error names the
// rule, counted from 1, and begins with Hadoop's words if there are any.
func Parse(text []byte) ([]Rule, error) {
	if len(text) > MaxJSON {
		return nil, fmt.Errorf("the rules have %d bytes, and may have %d", len(text), MaxJSON)
	}
	var all struct {
		Rules []description `json:"rules"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("the rules are not JSON of the form {\"rules\": [{\"type\": …, \"matches\": …, \"policy\": …}]}: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the end of the rules")
	}
	if len(all.Rules) > maxRules {
		return nil, fmt.Errorf("there are %d rules, and may be %d", len(all.Rules), maxRules)
	}
	rules := make([]Rule, len(all.Rules))
	for i := range all.Rules {
		var err error
		if rules[i], err = all.Rules[i].rule(); err != nil {
			return nil, fmt.Errorf("%w (rule %d)", err, i+1)
		}
	}
	return rules, nil
}

// rule makes a rule of its description (Hadoop: MappingRuleCreator).
func (d *description) rule() (r Rule, err error) {
	switch {
	case d.Policy == nil:
		return r, words("Rule policy is undefined")
	case d.Type == nil:
		return r, words("Rule type is undefined")
	case d.Matches == nil:
		return r, words("Match string is undefined")
	case *d.Matches == "":
		return r, words("Match string is empty")
	}
	r.matches = *d.Matches
	switch *d.Type {
	case "user":
		if r.matches != "*" {
			r.kind = ofUser
		}
	case "group":
		if r.kind = ofGroup; r.matches == "*" {
			return r, words("Cannot match '*' for groups")
		}
	case "application":
		r.kind = ofApplication
	default:
		return r, fmt.Errorf("there is no type %q of rules; there are user, group and application", conf.Shorten(*d.Type))
	}
	if err = d.act(&r); err != nil {
		return r, err
	}
	switch {
	case d.FallbackResult == nil, *d.FallbackResult == "skip":
	case *d.FallbackResult == "reject":
		r.fallback = Reject
	case *d.FallbackResult == "placeDefault":
		r.fallback = PlaceDefault
	default:
		return r, fmt.Errorf("there is no fallbackResult %q; there are skip, reject and placeDefault", conf.Shorten(*d.FallbackResult))
	}
	return r, nil
}

// act reads what the rule does.
func (d *description) act(r *Rule) error {
	r.create = d.Create == nil || *d.Create
	switch policy := *d.Policy; policy {
	case "defaultQueue":
		r.target, r.create = "%default", false
	case "reject":
		r.action = reject
	case "specified":
		r.target = "%specified"
	case "custom":
		if d.CustomPlacement == nil {
			return words("custom queue is undefined")
		}
		r.target = *d.CustomPlacement
	case "setDefaultQueue":
		if d.Value == nil {
			return words("default queue is undefined")
		}
		r.action, r.target = setDefault, *d.Value
	default:
		target, ok := targets[policy]
		if !ok {
			return fmt.Errorf("there is no policy %q; there are %s", conf.Shorten(policy), policies)
		}
		if r.target = target; d.ParentQueue != nil {
			r.target = *d.ParentQueue + "." + target
		}
	}
	return nil
}
