package lists

import (
	"strings"

	"heddle/conf"
	yarnrest "heddle/yarn/rest"
)

var settingOffer = offer{
	sorts:   []string{"key", "file", "effect", "severity"},
	filters: map[string]kind{"effect": words, "set": words, "severity": words, "file": words, "q": phrase},
}

// Effects of settings.
const (
	effectUsed  = "used"  // Heddle reads it
	effectNone  = "none"  // it is YARN's, and Heddle doesn't read it
	effectOther = "other" // it is of other programs, such as HDFS and MapReduce
)

// setting is a key of the configuration of this ResourceManager.
type setting struct {
	Key      string `yarn:"key"`
	Value    string `yarn:"value"`
	File     string `yarn:"file"`           // without its folder; programmatically: by a command or the environment
	Line     int    `yarn:"line,omitempty"` // of the file; 0: a default
	Set      bool   `yarn:"set"`            // else the value is the default
	Final    bool   `yarn:"final,omitempty"`
	Effect   string `yarn:"effect"`
	Severity string `yarn:"severity,omitempty"` // of the problem: error, warning, info
	Problem  string `yarn:"problem,omitempty"`
	Meaning  string `yarn:"meaning,omitempty"`
}

var settingRows = rows[setting]{
	columns: map[string]column[setting]{
		"key":      byNumber(func(*setting) int64 { return 0 }), // the order of keys decides
		"file":     byText(func(s *setting) string { return s.File }),
		"effect":   byText(func(s *setting) string { return s.Effect }),
		"severity": byText(func(s *setting) string { return s.Severity }),
	},
	tie: func(a, b *setting) int { return strings.Compare(a.Key, b.Key) },
	id:  func(s *setting) string { return s.Key },
	at:  func(id string) (setting, error) { return setting{Key: id}, nil },
}

type settingList struct {
	head
	Setting []setting `yarn:"setting"`
}

// settings returns the list of a configuration.
func settings(c *conf.Config) (all []setting) {
	problems := map[string]conf.Problem{}
	for _, p := range c.ValidateFor(conf.ResourceManager).Problems { // the gravest first
		if _, has := problems[p.Key]; !has {
			problems[p.Key] = p
		}
	}
	for s := range c.Settings() {
		all = append(all, settingOf(c, &s, problems))
	}
	return all
}

func settingOf(c *conf.Config, s *conf.Setting, problems map[string]conf.Problem) setting {
	out := setting{Key: s.Key, Value: s.Value, File: s.Sources[len(s.Sources)-1], Final: s.Final, Effect: effectOther}
	if at, ok := c.Where(s.Key); ok {
		out.Line, out.Set = at.Line, true
	}
	k, known := conf.FindKey(s.Key)
	switch {
	case known && k.Implemented:
		out.Effect = effectUsed
	case known || strings.HasPrefix(s.Key, "yarn."):
		out.Effect = effectNone
	}
	out.Meaning = k.Doc
	if p, has := problems[s.Key]; has {
		out.Severity, out.Problem = string(p.Severity), problemText(c, s, &p)
	}
	return out
}

// problemText is a problem in words. Those of a secret don't repeat its value.
func problemText(c *conf.Config, s *conf.Setting, p *conf.Problem) string {
	p.Source, p.Key, p.Value = conf.Source{}, "", "" // they stand beside it
	text := p.String()
	if value, _ := c.Verbatim(s.Key); value != s.Value && value != "" && strings.Contains(text, strings.TrimSpace(value)) {
		return "the value isn't valid"
	}
	return text
}

// configuration answers GET /configuration. Each member answers for itself.
func (l *Lists) configuration(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := pick(c, settingOffer, settingRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	l.keys.Do(func() { l.settings = settings(l.Conf) }) // a daemon reads it when it starts
	all := l.settings
	for i := range all {
		s := &all[i]
		if p.q.is("set", s.Set) && p.q.hasValueFold("effect", s.Effect) && p.q.hasValueFold("severity", s.Severity) && p.q.hasValue("file", s.File) && p.q.has("q", s.Key, s.Value, s.Meaning) {
			p.add(s)
		}
	}
	found := p.page()
	return answer(c, "configuration", &found, found.rows, settingList{headOf(len(all), &found), found.rows})
}
