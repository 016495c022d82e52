"""A person's email address is the login, whatever its case."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from apps.accounts.models import User
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_address_is_kept_in_lower_case():
    assert User.objects.create_user(" Ann@Example.ORG ").email == "ann@example.org"


def test_same_address_in_another_case_is_refused():
    UserFactory.create(email="ann@example.org")
    with pytest.raises(IntegrityError):
        User.objects.create_user("ANN@example.org")


def test_row_cannot_hold_upper_case():
    with pytest.raises(IntegrityError):
        User(email="Ann@example.org").save()


def test_address_is_found_in_any_case():
    user = UserFactory.create(email="ann@example.org")
    assert User.objects.get_by_natural_key("Ann@Example.org") == user


def test_user_without_a_password_cannot_sign_in():
    assert not User.objects.create_user("ann@example.org").has_usable_password()


def test_operator_may_use_the_admin():
    operator = User.objects.create_superuser("root@example.org", "secret")
    assert (operator.is_staff, operator.is_superuser) == (True, True)


def test_person_without_a_name_is_called_by_address():
    assert (
        UserFactory.create(email="a@example.org", name="").get_full_name()
        == "a@example.org"
    )
