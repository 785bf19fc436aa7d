// Package bellwether is a client of a Bellwether cluster over HTTP: sessions, locks and leadership, in the shape that
// users of etcd's package concurrency know.
//
//	client := bellwether.NewClient("http://10.0.0.1:7480", "http://10.0.0.2:7480")
//	session, err := bellwether.NewSession(ctx, client, bellwether.WithTTL(10*time.Second))
//	mutex := bellwether.NewMutex(session, "migrations")
//	if err := mutex.Lock(ctx); err != nil { ... }
//	defer mutex.Unlock(context.Background())
//	// Pass mutex.Token() to the protected resource, which rejects tokens smaller than the largest it has seen.
//	select {
//	case <-work():
//	case <-session.Done(): // stop: before this, no other session can hold the lock
//	}
//
// A session's deadline counts from when the keep-alive was sent, so that Done is closed before the cluster ends the
// session. Every request carries a number and is sent again, to another member, until it is answered: nothing is done
// twice.
package bellwether

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	attemptWithin = 3 * time.Second
	pauseFirst    = 20 * time.Millisecond
	pauseLongest  = time.Second
)

// Client holds the addresses of the members. Any member takes any request.
type Client struct {
	endpoints []string
	http      *http.Client
	first     atomic.Int64
}

// NewClient returns a client of the members at these addresses, such as http://10.0.0.1:7480.
func NewClient(endpoints ...string) *Client {
	list := make([]string, len(endpoints))
	for i, endpoint := range endpoints {
		if !strings.Contains(endpoint, "://") {
			endpoint = "http://" + endpoint
		}
		list[i] = strings.TrimRight(endpoint, "/")
	}
	return &Client{endpoints: list, http: &http.Client{}}
}

// Error is a member's answer to a request that it refused.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is a word for what is wrong that does not change: "busy", "deadlock", "ended".
	Code string `json:"code"`
	// Text says what is wrong.
	Text string `json:"error"`
	// Hint says what to do about it.
	Hint string `json:"hint"`
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + "; " + e.Hint
}

var (
	// ErrLocked is what TryLock returns if another session has the lock.
	ErrLocked = errors.New("bellwether: the lock is held by another session")
	// ErrSessionDone is what calls return whose session has ended, and with it all that it held.
	ErrSessionDone = errors.New("bellwether: the session has ended; open a new one")
	// ErrNotHeld is what Unlock, Proclaim and Resign return if nothing is held.
	ErrNotHeld = errors.New("bellwether: it is not held")
	// ErrNoLeader is what Leader returns if the role has no leader.
	ErrNoLeader = errors.New("bellwether: the role has no leader")
)

// call asks members in turn until one answers, or the context ends. The request must be one that may be sent again.
func (c *Client) call(ctx context.Context, method, path, secret string, wait time.Duration, body, answer any) error {
	if len(c.endpoints) == 0 {
		return errors.New("bellwether: the client has no endpoints")
	}
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	var last error
	for pause := pauseFirst; ; pause = min(2*pause, pauseLongest) {
		for range c.endpoints {
			first := c.first.Load()
			endpoint := c.endpoints[int(first)%len(c.endpoints)]
			err := c.attempt(ctx, method, endpoint+path, secret, wait, payload, answer)
			var refused *Error
			if err == nil || errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			last = fmt.Errorf("%s: %w", endpoint, err)
			c.first.CompareAndSwap(first, first+1)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%v)", ctx.Err(), last)
		case <-time.After(pause):
		}
	}
}

func (c *Client) attempt(ctx context.Context, method, url, secret string, wait time.Duration, payload []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, attemptWithin+wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	if payload != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		refused := &Error{Status: response.StatusCode}
		if json.Unmarshal(text, refused) != nil || refused.Text == "" {
			refused.Text = strings.TrimSpace(string(text))
		}
		return refused
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func min(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}
