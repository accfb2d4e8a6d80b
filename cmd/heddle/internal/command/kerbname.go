package command

import (
	"heddle/cmd/heddle/internal/option"
	"heddle/conf/usernames"
)

// kerbname says what becomes of full names, as hadoop kerbname does.
var kerbname = verb{
	name: "kerbname", title: "heddle kerbname NAME...",
	short:   "Show the short names of users (hadoop.security.auth_to_local)",
	options: func() []option.Option { return nil },
	run: func(s *session, l *option.Line) error {
		if len(l.Args) == 0 {
			return s.usage()
		}
		rules, err := usernames.Of(s.conf)
		if err != nil {
			return err
		}
		short := map[string]string{}
		for _, name := range l.Args {
			if short[name], err = rules.Short(name); err != nil {
				return err
			}
			if !s.json {
				s.print("Name: %s to %s\n", name, short[name])
			}
		}
		if s.json {
			return s.printValue(short)
		}
		return nil
	},
}
