package bellwether

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Election is a role that one session leads at a time.
type Election struct {
	s     *Session
	role  string
	token uint64
}

// Leader describes the leader of a role.
type Leader struct {
	Session string `json:"session"`
	Client  string `json:"client"`
	Token   uint64 `json:"token"`
	Value   string `json:"value"`
}

// NewElection returns an election for this role.
func NewElection(s *Session, role string) *Election { return &Election{s: s, role: role} }

// Token returns the fencing token by which this session leads; 0 if it does not lead.
func (e *Election) Token() uint64 { return e.token }

func (e *Election) path(what string) string {
	return "/v1/roles/" + url.PathEscape(e.role) + "/" + what
}

// Campaign waits until this session leads the role. If the context ends first, it does not campaign any longer.
func (e *Election) Campaign(ctx context.Context, value string) error {
	number := e.s.number.Add(1)
	ask := map[string]any{
		"session": e.s.id, "value": value, "number": number, "wait_ms": longest.Milliseconds(),
	}
	for {
		var standing struct {
			Leads bool   `json:"leads"`
			Token uint64 `json:"token"`
		}
		err := e.s.ask(ctx, http.MethodPost, e.path("campaign"), longest, ask, &standing)
		if err != nil {
			if ctx.Err() != nil {
				after, cancel := context.WithDeadline(context.Background(), e.s.Deadline())
				defer cancel()
				_ = e.resign(after)
			}
			return err
		}
		if standing.Leads {
			e.token = standing.Token
			return nil
		}
	}
}

// Proclaim changes the value of the leader.
func (e *Election) Proclaim(ctx context.Context, value string) error {
	if e.token == 0 {
		return ErrNotHeld
	}
	ask := map[string]any{"session": e.s.id, "value": value, "number": e.s.number.Add(1)}
	return e.held(e.s.ask(ctx, http.MethodPost, e.path("proclaim"), 0, ask, nil))
}

// Resign gives up the role.
func (e *Election) Resign(ctx context.Context) error {
	if e.token == 0 {
		return ErrNotHeld
	}
	e.token = 0
	return e.held(e.resign(ctx))
}

func (e *Election) resign(ctx context.Context) error {
	ask := map[string]any{"session": e.s.id, "number": e.s.number.Add(1)}
	return e.s.ask(ctx, http.MethodPost, e.path("resign"), 0, ask, nil)
}

func (e *Election) held(err error) error {
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return ErrNotHeld
	}
	return err
}

// Leader returns the current leader, as one member knows it.
func (e *Election) Leader(ctx context.Context) (*Leader, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case leader, open := <-e.Observe(ctx):
		if open && leader.Session != "" {
			return &leader, nil
		}
		if !open {
			return nil, ctx.Err()
		}
		return nil, ErrNoLeader
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Observe reports the leader, now and after each change, until the context ends. A Leader without a session means that
// the role has no leader.
func (e *Election) Observe(ctx context.Context) <-chan Leader {
	changes := make(chan Leader)
	go func() {
		defer close(changes)
		var last *Leader
		for ctx.Err() == nil {
			e.follow(ctx, changes, &last)
			select {
			case <-ctx.Done():
			case <-time.After(pauseFirst):
			}
		}
	}()
	return changes
}

// follow reads one stream of server-sent events until it breaks.
func (e *Election) follow(ctx context.Context, changes chan<- Leader, last **Leader) {
	client := e.s.client
	first := client.first.Load()
	defer client.first.CompareAndSwap(first, first+1)
	endpoint := client.endpoints[int(first)%len(client.endpoints)]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+e.path("watch"), nil)
	if err != nil {
		return
	}
	response, err := client.http.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		data := strings.TrimPrefix(line, "data:")
		if data == line {
			continue
		}
		var role struct {
			Leader *Leader `json:"leader"`
		}
		if json.Unmarshal([]byte(data), &role) != nil {
			continue
		}
		leader := Leader{}
		if role.Leader != nil {
			leader = *role.Leader
		}
		if *last != nil && **last == leader {
			continue
		}
		*last = &leader
		select {
		case changes <- leader:
		case <-ctx.Done():
			return
		}
	}
}
