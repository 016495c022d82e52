"""Drawing a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.plan_layout import FULL, MINI, depths, lay_out

DIAMOND = ((), (0,), (0,), (1, 2))
CHAIN = ((), (0,), (0, 1), (0, 1, 2))


@st.composite
def plans(draw):
    size = draw(st.integers(1, 8))
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, i - 1))))) if i else ()
        for i in range(size)
    )


def test_depth_is_one_more_than_the_deepest_step_read():
    assert depths(DIAMOND) == [0, 1, 1, 2]


def test_empty_plan_draws_nothing():
    assert lay_out(()).nodes == ()


def test_chain_stays_in_one_line():
    assert len({node.y for node in lay_out(CHAIN).nodes}) == 1


def test_reader_stands_between_the_two_it_reads():
    first, second, reader = lay_out(((), (), (0, 1))).nodes
    assert reader.y == pytest.approx((first.y + second.y) / 2)


def test_edges_are_exactly_the_access_lists():
    drawn = {(edge.source, edge.target) for edge in lay_out(CHAIN).edges}
    assert drawn == {(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)}


@given(plans())
def test_readers_stand_right_of_what_they_read(access):
    layout = lay_out(access)
    x = [node.x for node in layout.nodes]
    assert all(x[edge.source] < x[edge.target] for edge in layout.edges)


@pytest.mark.parametrize("scale", [FULL, MINI])
@given(access=plans())
def test_nodes_never_overlap_and_stay_inside(scale, access):
    layout = lay_out(access, scale)
    places = [(node.x, node.y) for node in layout.nodes]
    for i, (x, y) in enumerate(places):
        assert x + scale.node_width <= layout.width
        assert 0 <= y <= layout.height - scale.node_height
        others = (other for other in places[i + 1 :] if other[0] == x)
        assert all(abs(y - other[1]) >= scale.node_height for other in others)
