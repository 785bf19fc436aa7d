package bellwether

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Session holds locks and leads roles. It lasts as long as this process keeps it alive.
type Session struct {
	client *Client
	id     string
	key    string
	ttl    time.Duration
	number atomic.Uint64
	done   chan struct{}
	once   sync.Once
	stop   context.CancelFunc
	mutex  sync.Mutex
	// Until when it can be relied on if nothing more is heard.
	deadline time.Time
}

type options struct {
	ttl  time.Duration
	name string
}

// SessionOption sets an option of a session.
type SessionOption func(*options)

// WithTTL sets the TTL: how long the session lasts after its last keep-alive. The default is ten seconds.
func WithTTL(ttl time.Duration) SessionOption { return func(o *options) { o.ttl = ttl } }

// WithName sets the name of the session in lists such as `bellwether sessions`.
func WithName(name string) SessionOption { return func(o *options) { o.name = name } }

// margin is how long before the deadline the session ends here: clocks differ, and Done must be heard in time.
func margin(ttl time.Duration) time.Duration {
	if m := ttl / 50; m > 3*time.Millisecond {
		return m
	}
	return 3 * time.Millisecond
}

// NewSession opens a session. It is kept alive until Close, or until no member answers for its TTL.
func NewSession(ctx context.Context, client *Client, opts ...SessionOption) (*Session, error) {
	how := options{ttl: 10 * time.Second, name: fmt.Sprintf("%s[%d]", filepath.Base(os.Args[0]), os.Getpid())}
	for _, option := range opts {
		option(&how)
	}
	var drawn [16]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return nil, err
	}
	key := hex.EncodeToString(drawn[:])
	ask := map[string]any{"client": how.name, "ttl_ms": how.ttl.Milliseconds(), "key": key}
	var opened struct {
		Session string `json:"session"`
		TTL     int64  `json:"ttl_ms"`
	}
	sent := time.Now()
	if err := client.call(ctx, http.MethodPost, "/v1/sessions", "", 0, ask, &opened); err != nil {
		return nil, err
	}
	ttl := time.Duration(opened.TTL) * time.Millisecond
	alive, stop := context.WithCancel(context.Background())
	s := &Session{client: client, id: opened.Session, key: key, ttl: ttl, done: make(chan struct{}), stop: stop}
	s.deadline = sent.Add(ttl - margin(ttl))
	go s.keepAlive(alive)
	return s, nil
}

// ID returns the session's name in the cluster, such as s3.17.
func (s *Session) ID() string { return s.id }

// Done is closed when the session has ended, before another session can hold what it held.
func (s *Session) Done() <-chan struct{} { return s.done }

// Deadline returns the time until which you can rely on the session if no member answers any more.
func (s *Session) Deadline() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.deadline
}

// Alive reports whether you can rely on the session now. It checks the clock.
func (s *Session) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return time.Now().Before(s.Deadline())
	}
}

// Close ends the session and releases everything that it holds.
func (s *Session) Close() error {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), s.ttl)
	defer cancel()
	err := s.client.call(ctx, http.MethodDelete, "/v1/sessions/"+s.id, s.key, 0, nil, nil)
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusGone) {
		return nil
	}
	return err
}

func (s *Session) end() {
	s.once.Do(func() {
		close(s.done)
		s.stop()
	})
}

func (s *Session) keepAlive(ctx context.Context) {
	defer s.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(s.ttl/3, time.Until(s.Deadline()))):
		}
		// What is not answered by the deadline is no proof any more.
		attempt, cancel := context.WithDeadline(ctx, s.Deadline())
		sent := time.Now()
		err := s.client.once(attempt, "/v1/sessions/"+s.id+"/keep-alive", s.key, s.ttl/3)
		cancel()
		var refused *Error
		switch {
		case err == nil:
			s.mutex.Lock()
			s.deadline = sent.Add(s.ttl - margin(s.ttl))
			s.mutex.Unlock()
		case errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable:
			return
		case !time.Now().Before(s.Deadline()):
			return
		}
	}
}

// once sends a keep-alive to one member after the other, each once: what proves life counts from when it was sent.
func (c *Client) once(ctx context.Context, path, secret string, within time.Duration) error {
	var last error
	for range c.endpoints {
		first := c.first.Load()
		attempt, cancel := context.WithTimeout(ctx, within/time.Duration(len(c.endpoints))+10*time.Millisecond)
		endpoint := c.endpoints[int(first)%len(c.endpoints)]
		last = c.attempt(attempt, http.MethodPost, endpoint+path, secret, 0, nil, nil)
		cancel()
		var refused *Error
		if last == nil || errors.As(last, &refused) && refused.Status != http.StatusServiceUnavailable {
			return last
		}
		c.first.CompareAndSwap(first, first+1)
	}
	return last
}

// ask sends a request of the session, until it is answered, the context ends, or the session does.
func (s *Session) ask(ctx context.Context, method, path string, wait time.Duration, body, answer any) error {
	if !s.Alive() {
		return ErrSessionDone
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.client.call(ctx, method, path, s.key, wait, body, answer)
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == http.StatusGone || refused.Status == http.StatusNotFound) {
		s.end()
		return ErrSessionDone
	}
	if err != nil && !s.Alive() {
		return ErrSessionDone
	}
	return err
}
